// The machine: devices in rows by kind, node by node; links coloured by how busy they are; messages on their way.

import { bytesText, type Hint, prepare, type Size } from './canvas';
import { deviceColours, faultColour, loadColour, theme } from './colours';
import type { Device, Machine } from './data';
import { lastAt, type Play } from './play';

interface Point {
  x: number;
  y: number;
}

const rowOfKind: Record<string, number> = {
  network_switch: 0,
  nic: 1,
  cpu: 2,
  pcie_switch: 3,
  gpu: 4,
  nvswitch: 5,
};
const mostDots = 3000;
/** Of a machine of more nodes only the first are open. */
const mostOpenNodes = 4;

export class MachinePicture {
  private places: Map<number, Point> = new Map();
  private layoutKey = '';
  private readonly folded: Set<number> = new Set();
  private readonly nodes: number[];
  private readonly linkIndex: Map<number, number>;
  private readonly faultyLinks: Set<number>;
  private readonly faultyRanks: Set<number>;
  private readonly curveOfLink: Map<number, number> = new Map();
  private boxes: { node: number; x: number; y: number; width: number; height: number }[] = [];

  constructor(
    private readonly machine: Machine,
    private readonly play: Play,
  ) {
    this.nodes = [...new Set(machine.devices.map((device) => device.node))].filter((node) => node >= 0).sort((a, b) => a - b);
    const members = (node: number) => machine.devices.filter((device) => device.node === node).length;
    if (this.nodes.length > mostOpenNodes) {
      this.nodes.slice(this.nodes.length > 16 ? 0 : 2).filter((node) => members(node) > 1).forEach((node) => this.folded.add(node));
    }
    this.faultyLinks = new Set(play.call.faultyLinks);
    this.faultyRanks = new Set(play.call.faultyRanks);
    this.linkIndex = new Map(machine.links.map((link, i) => [link.id, i]));
    const byName = new Map(machine.links.map((link, i) => [link.name, i]));
    play.call.utilisation.forEach((curve, i) => {
      const link = byName.get(curve.name);
      if (link !== undefined) this.curveOfLink.set(link, i);
    });
  }

  private layOut(size: Size) {
    const key = `${size.width}x${size.height}/${[...this.folded].join()}`;
    if (key === this.layoutKey) return;
    this.layoutKey = key;
    this.places = new Map();
    this.boxes = [];
    const fabric = this.machine.devices.filter((device) => device.node < 0);
    const top = fabric.length > 0 ? 40 : 8;
    fabric.forEach((device, i) => {
      this.places.set(device.id, { x: ((i + 0.5) * size.width) / fabric.length, y: 20 });
    });
    const columns = this.columnsFor(size, top);
    const rows = Math.ceil(this.nodes.length / columns);
    this.nodes.forEach((node, i) => {
      const width = size.width / columns;
      const height = (size.height - top) / rows;
      this.layOutNode(node, (i % columns) * width, top + Math.floor(i / columns) * height, width, height);
    });
  }

  private columnsFor(size: Size, top: number): number {
    const aspect = size.width / Math.max(size.height - top, 1);
    return Math.max(1, Math.min(this.nodes.length, Math.round(Math.sqrt(this.nodes.length * aspect * 0.6))));
  }

  private layOutNode(node: number, x: number, y: number, width: number, height: number) {
    this.boxes.push({ node, x: x + 3, y: y + 3, width: width - 6, height: height - 6 });
    const members = this.machine.devices.filter((device) => device.node === node);
    const middle = { x: x + width / 2, y: y + height / 2 };
    if (this.folded.has(node)) {
      members.forEach((device) => this.places.set(device.id, middle));
      return;
    }
    const kinds = [...new Set(members.map((device) => rowOfKind[device.kind] ?? 4))].sort((a, b) => a - b);
    for (const device of members) {
      const alike = members.filter((other) => rowOfKind[other.kind] === rowOfKind[device.kind]);
      const row = kinds.indexOf(rowOfKind[device.kind] ?? 4);
      this.places.set(device.id, {
        x: x + ((alike.indexOf(device) + 0.5) * width) / alike.length,
        y: y + 14 + ((row + 0.5) * (height - 20)) / kinds.length,
      });
    }
  }

  /** Folds or opens the node whose corner is there. */
  click(at: Point): boolean {
    const box = this.boxes.find(
      (each) => at.x >= each.x && at.x <= each.x + each.width && at.y >= each.y && at.y <= each.y + each.height,
    );
    if (!box || this.nodes.length < 2) return false;
    if (!this.folded.delete(box.node)) this.folded.add(box.node);
    return true;
  }

  foldAll(folded: boolean) {
    this.nodes.forEach((node) => (folded ? this.folded.add(node) : this.folded.delete(node)));
  }

  /** Per cent of its rate that a link carries. */
  private loadOf(link: number, time: number): number {
    const curve = this.play.call.utilisation[this.curveOfLink.get(link) ?? -1];
    if (!curve) return 0;
    const index = lastAt(curve.at, time);
    return index < 0 ? 0 : curve.value[index];
  }

  draw(canvas: HTMLCanvasElement, time: number, channel: number) {
    const { context, size } = prepare(canvas);
    this.layOut(size);
    this.drawBoxes(context);
    this.drawLinks(context, time);
    this.drawFaults(context);
    this.drawMessages(context, time, channel);
    this.drawDevices(context); // last, so that rank numbers are never covered
  }

  private drawBoxes(context: CanvasRenderingContext2D) {
    context.strokeStyle = theme().line;
    context.fillStyle = theme().soft;
    context.textAlign = 'left';
    if (this.nodes.length < 2) return;
    for (const box of this.boxes) {
      context.strokeRect(box.x, box.y, box.width, box.height);
      context.fillText(`node ${box.node}${this.folded.has(box.node) ? ' (folded)' : ''}`, box.x + 4, box.y + 8, box.width - 8);
    }
  }

  private drawLinks(context: CanvasRenderingContext2D, time: number) {
    this.machine.links.forEach((link, i) => {
      const [from, to] = this.ends(link.from, link.to);
      if (!from || !to) return;
      const load = this.loadOf(i, time);
      context.strokeStyle = loadColour(load);
      context.lineWidth = load > 0 ? 2 : 1;
      context.beginPath();
      context.moveTo(from.x, from.y);
      context.lineTo(to.x, to.y);
      context.stroke();
    });
    context.lineWidth = 1;
  }

  /** A dashed line beside every link that a fault changes, and a cross on it. */
  private drawFaults(context: CanvasRenderingContext2D) {
    context.strokeStyle = faultColour;
    context.lineWidth = 2;
    for (const link of this.machine.links) {
      if (!this.faultyLinks.has(link.id)) continue;
      const [from, to] = this.ends(link.from, link.to);
      if (!from || !to) continue;
      context.beginPath();
      context.setLineDash([4, 4]);
      context.moveTo(from.x, from.y);
      context.lineTo(to.x, to.y);
      context.stroke();
      context.setLineDash([]);
      const middle = { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 };
      context.beginPath();
      context.moveTo(middle.x - 5, middle.y - 5);
      context.lineTo(middle.x + 5, middle.y + 5);
      context.moveTo(middle.x - 5, middle.y + 5);
      context.lineTo(middle.x + 5, middle.y - 5);
      context.stroke();
    }
    context.lineWidth = 1;
  }

  /** Both directions of a link lie side by side. */
  private ends(fromId: number, toId: number): [Point?, Point?] {
    const from = this.places.get(fromId);
    const to = this.places.get(toId);
    if (!from || !to || (from.x === to.x && from.y === to.y)) return [];
    const length = Math.hypot(to.x - from.x, to.y - from.y);
    const x = (-(to.y - from.y) / length) * 2;
    const y = ((to.x - from.x) / length) * 2;
    return [
      { x: from.x + x, y: from.y + y },
      { x: to.x + x, y: to.y + y },
    ];
  }

  private drawDevices(context: CanvasRenderingContext2D) {
    context.textAlign = 'center';
    const drawn = new Set<string>();
    for (const device of this.machine.devices) {
      const place = this.places.get(device.id)!;
      const spot = `${place.x},${place.y}`;
      if (drawn.has(spot)) continue;
      drawn.add(spot);
      context.fillStyle = deviceColours[device.kind] ?? '#999999';
      context.beginPath();
      context.arc(place.x, place.y, device.kind === 'gpu' ? 8 : 5, 0, 2 * Math.PI);
      context.fill();
      const rank = this.machine.gpus.indexOf(device.id);
      if (this.faultyRanks.has(rank)) {
        context.strokeStyle = faultColour;
        context.lineWidth = 3;
        context.stroke();
        context.lineWidth = 1;
      }
      if (rank >= 0 && !this.folded.has(device.node)) {
        context.fillStyle = '#ffffff';
        context.fillText(String(rank), place.x, place.y, 14);
      }
    }
  }

  private drawMessages(context: CanvasRenderingContext2D, time: number, channel: number) {
    const { messages, records, routes } = this.play.call;
    let drawn = 0;
    context.fillStyle = theme().mark;
    for (let i = 0; i < messages.from.length && drawn < mostDots; ++i) {
      if (channel >= 0 && messages.channel[i] !== channel) continue;
      const begin = records.moving[messages.begun[i]];
      const end = Math.max(records.begin[messages.received[i]], records.end[messages.sent[i]]);
      if (time < begin || time > end || end <= begin) continue;
      const spot = this.along(routes[messages.route[i]], (time - begin) / (end - begin));
      if (!spot) continue;
      context.fillRect(spot.x - 2, spot.y - 2, 4, 4);
      ++drawn;
    }
  }

  private along(route: number[], share: number): Point | undefined {
    if (route.length === 0) return undefined;
    const position = Math.min(share * route.length, route.length - 1e-9);
    const link = this.machine.links[this.linkIndex.get(route[Math.floor(position)])!];
    const [from, to] = this.ends(link.from, link.to);
    if (!from || !to) return this.places.get(link.from);
    const part = position - Math.floor(position);
    return { x: from.x + part * (to.x - from.x), y: from.y + part * (to.y - from.y) };
  }

  /** What a pointer is over, and its numbers. */
  hint(at: Point, time: number): string[] {
    const near = this.machine.devices.find((device) => {
      const place = this.places.get(device.id);
      return place && Math.hypot(place.x - at.x, place.y - at.y) < 9;
    });
    if (near) return this.deviceLines(near, time);
    let best: string[] = [];
    let distance = 5;
    this.machine.links.forEach((link, i) => {
      const [from, to] = this.ends(link.from, link.to);
      if (!from || !to) return;
      const away = distanceTo(at, from, to);
      if (away >= distance) return;
      distance = away;
      best = this.linkLines(i, time);
    });
    return best;
  }

  private deviceLines(device: Device, time: number): string[] {
    const rank = this.machine.gpus.indexOf(device.id);
    const lines = [rank >= 0 ? `${device.name}: rank ${rank}` : `${device.name} (${device.kind})`];
    if (this.faultyRanks.has(rank)) lines.push('faulty');
    this.machine.links.forEach((link, i) => {
      const load = this.loadOf(i, time);
      if ((link.from === device.id || link.to === device.id) && load > 0 && lines.length < 8) {
        lines.push(`${link.name}: ${load.toFixed(0)} %`);
      }
    });
    return lines;
  }

  private linkLines(index: number, time: number): string[] {
    const link = this.machine.links[index];
    const passing = this.play.call.messages;
    let bytes = 0;
    for (let i = 0; i < passing.route.length; ++i) {
      if (this.play.call.routes[passing.route[i]].includes(link.id)) bytes += this.play.call.records.bytes[passing.begun[i]];
    }
    return [
      this.faultyLinks.has(link.id) ? `${link.name}: faulty` : link.name,
      `${link.rate.toFixed(1)} GB/s, now ${this.loadOf(index, time).toFixed(0)} % of what it carries`,
      `${bytesText(bytes)} in the whole call`,
    ];
  }
}

function distanceTo(at: Point, from: Point, to: Point): number {
  const length = (to.x - from.x) ** 2 + (to.y - from.y) ** 2;
  const along = ((at.x - from.x) * (to.x - from.x) + (at.y - from.y) * (to.y - from.y)) / length;
  const part = Math.max(0, Math.min(1, along));
  return Math.hypot(from.x + part * (to.x - from.x) - at.x, from.y + part * (to.y - from.y) - at.y);
}

export type { Hint };
