// Where the ranks of an algorithm stand in its logical picture: a ring as a ring, a tree as a tree.

import type { Call } from './data';
import type { Transfer } from './flow';

export type Kind = 'ring' | 'chain' | 'tree' | 'switch' | 'star' | 'matrix' | 'groups' | 'cube' | 'circle';

export interface Spot {
  participant: number;
  x: number;
  y: number;
}

export interface Edge {
  from: number;
  to: number;
}

/** One drawing: the whole algorithm, or one of several trees. */
export interface Panel {
  title: string;
  chunks: Set<number> | null; // nothing: all
  x: number;
  y: number;
  width: number;
  height: number;
  spots: Spot[];
  edges: Edge[];
  boxes: { title: string; x: number; y: number; width: number; height: number }[];
}

export interface Layout {
  kind: Kind;
  panels: Panel[];
  radius: number; // of a rank
}

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

function edgesOf(transfers: Transfer[]): Edge[] {
  const found = new Map<string, Edge>();
  for (const { from, to } of transfers) found.set(`${from}-${to}`, { from, to });
  return [...found.values()];
}

/** The ranks of one closed ring, or of one open chain, in its order from the root or rank 0; nothing otherwise. */
function ringOrder(edges: Edge[], ranks: number): { order: number[]; closed: boolean } | null {
  const next = new Map(edges.map(({ from, to }) => [from, to]));
  const targets = new Set(edges.map(({ to }) => to));
  if (next.size !== edges.length || targets.size !== edges.length || ranks < 3) return null;
  const begin = Array.from({ length: ranks }, (_, rank) => rank).find((rank) => !targets.has(rank));
  const order = [begin ?? 0];
  for (let to = next.get(order[0]); to !== undefined && to !== order[0]; to = next.get(to)) order.push(to);
  return order.length === ranks ? { order, closed: begin === undefined } : null;
}

/** Parents in the tree that the transfers go along; nothing if they are none. */
function treeOf(transfers: Transfer[]): Map<number, number> | null {
  const neighbours = new Map<number, Set<number>>();
  const link = (a: number, b: number) => neighbours.set(a, (neighbours.get(a) ?? new Set()).add(b));
  for (const { from, to } of transfers) {
    link(from, to);
    link(to, from);
  }
  const members = [...neighbours.keys()].sort((a, b) => a - b);
  const degrees = members.reduce((sum, each) => sum + neighbours.get(each)!.size, 0);
  if (members.length < 3 || degrees !== 2 * (members.length - 1)) return null;
  // The root only adds, never is told a sum by copy; and it never hands its sum on.
  const copied = new Set(transfers.filter((each) => !each.reduce).map((each) => each.to));
  const added = new Set(transfers.filter((each) => each.reduce).map((each) => each.from));
  const root = members.find((each) => !copied.has(each) && !added.has(each));
  if (root === undefined) return null;
  const parents = new Map<number, number>([[root, -1]]);
  const queue = [root];
  for (const rank of queue) {
    for (const other of [...neighbours.get(rank)!].sort((a, b) => a - b)) {
      if (parents.has(other)) continue;
      parents.set(other, rank);
      queue.push(other);
    }
  }
  return parents.size === members.length ? parents : null;
}

function circle(order: number[], box: Box, radius: number): Spot[] {
  const around = Math.max(Math.min(box.width, box.height) / 2 - radius - 8, radius);
  return order.map((participant, i) => {
    const angle = (2 * Math.PI * i) / order.length - Math.PI / 2;
    return {
      participant,
      x: box.x + box.width / 2 + around * Math.cos(angle),
      y: box.y + box.height / 2 + around * Math.sin(angle),
    };
  });
}

function treeSpots(parents: Map<number, number>, box: Box, radius: number): Spot[] {
  const children = new Map<number, number[]>();
  parents.forEach((parent, rank) => children.set(parent, [...(children.get(parent) ?? []), rank].sort((a, b) => a - b)));
  const column = new Map<number, number>();
  const depth = new Map<number, number>();
  let columns = 0;
  const place = (rank: number, level: number): number => {
    depth.set(rank, level);
    const below = (children.get(rank) ?? []).map((child) => place(child, level + 1));
    const x = below.length === 0 ? columns++ : (below[0] + below[below.length - 1]) / 2;
    column.set(rank, x);
    return x;
  };
  place(children.get(-1)![0], 0);
  const levels = Math.max(...depth.values());
  const width = box.width - 2 * radius - 16;
  const height = box.height - 2 * radius - 16;
  return [...parents.keys()].map((participant) => ({
    participant,
    x: box.x + radius + 8 + (columns > 1 ? (column.get(participant)! / (columns - 1)) * width : width / 2),
    y: box.y + radius + 8 + (levels > 0 ? (depth.get(participant)! / levels) * height : height / 2),
  }));
}

function switchSpots(edges: Edge[], ranks: number, participants: number, box: Box, radius: number): Spot[] {
  const perRow = Math.max(1, Math.floor(box.width / (2 * radius + 10)));
  const rows = Math.ceil(ranks / perRow);
  const columns = Math.ceil(ranks / rows);
  const spots: Spot[] = [];
  for (let rank = 0; rank < ranks; ++rank) {
    spots.push({
      participant: rank,
      x: box.x + ((rank % columns) + 0.5) * (box.width / columns),
      y: box.y + box.height - radius - 8 - (rows - 1 - Math.floor(rank / columns)) * (2 * radius + 14),
    });
  }
  const agents = participants - ranks;
  for (let agent = 0; agent < agents; ++agent) {
    const mine = edges.filter(({ from }) => from === ranks + agent).map(({ to }) => spots[to]?.x ?? box.width / 2);
    const alone = agents === 1 && mine.length > 0;
    const x = alone ? mine.reduce((sum, each) => sum + each, 0) / mine.length : box.x + ((agent + 0.5) * box.width) / agents;
    spots.push({ participant: ranks + agent, x, y: box.y + radius + 10 });
  }
  return spots;
}

function groupSpots(nodes: number[], box: Box, radius: number): Pick<Panel, 'spots' | 'boxes'> {
  const names = [...new Set(nodes)];
  // As large circles as there is room for.
  const room = (columns: number) => Math.min(box.width / columns, box.height / Math.ceil(names.length / columns));
  const columns = names.reduce((best, _, i) => (room(i + 1) > room(best) ? i + 1 : best), 1);
  const rows = Math.ceil(names.length / columns);
  const spots: Spot[] = [];
  const boxes: Panel['boxes'] = [];
  names.forEach((node, i) => {
    const width = box.width / columns;
    const height = box.height / rows;
    const inner = { x: box.x + (i % columns) * width + 6, y: box.y + Math.floor(i / columns) * height + 6, width: width - 12, height: height - 12 };
    boxes.push({ title: `node ${node}`, ...inner });
    const members = nodes.flatMap((each, rank) => (each === node ? [rank] : []));
    spots.push(...circle(members, { ...inner, y: inner.y + 14, height: inner.height - 14 }, radius));
  });
  return { spots, boxes };
}

/** Whether ranks talk only to those whose number differs in one bit. */
function isCube(edges: Edge[], ranks: number): boolean {
  const differs = ({ from, to }: Edge) => from ^ to;
  const powerOfTwo = (bits: number) => (bits & (bits - 1)) === 0;
  return ranks >= 4 && ranks <= 16 && powerOfTwo(ranks) && edges.every((edge) => powerOfTwo(differs(edge)));
}

/** Every bit of the number is a direction: partners of one step stand alike to each other. */
function cubeSpots(ranks: number, box: Box, radius: number): Spot[] {
  const directions: [number, number][] =
    ranks === 16
      ? [[0.31, 0], [0, 0.58], [0.12, 0.26], [0.57, 0.16]]
      : [[ranks === 4 ? 1 : 0.66, 0], [0, ranks === 4 ? 1 : 0.66], [0.34, 0.34]];
  const margin = radius + 8;
  return Array.from({ length: ranks }, (_, participant) => {
    const set = directions.filter((_unused, bit) => (participant >> bit) & 1);
    const [x, y] = [0, 1].map((axis) => set.reduce((sum, each) => sum + each[axis], 0));
    return {
      participant,
      x: box.x + margin + x * (box.width - 2 * margin),
      y: box.y + margin + y * (box.height - 2 * margin),
    };
  });
}

/** One entry for each set of chunks that goes along a tree of its own; nothing if any does not. */
function treesOf(transfers: Transfer[]): { chunks: Set<number>; parents: Map<number, number> }[] | null {
  const byChunk = new Map<number, Transfer[]>();
  for (const each of transfers) {
    for (let chunk = each.first; chunk < each.first + each.count; ++chunk) {
      byChunk.set(chunk, [...(byChunk.get(chunk) ?? []), each]);
    }
  }
  const trees = new Map<string, { chunks: Set<number>; parents: Map<number, number> }>();
  for (const [chunk, own] of byChunk) {
    const parents = treeOf(own);
    if (!parents) return null;
    const key = [...parents].map(([rank, parent]) => `${rank}:${parent}`).sort().join();
    const tree = trees.get(key) ?? { chunks: new Set<number>(), parents };
    tree.chunks.add(chunk);
    trees.set(key, tree);
    if (trees.size > 2) return null;
  }
  return [...trees.values()].sort((a, b) => Math.min(...a.chunks) - Math.min(...b.chunks));
}

function panelsBeside(count: number, width: number, height: number, titled: boolean): Box[] {
  const stacked = count > 1 && width < 440;
  const top = titled ? 18 : 0;
  return Array.from({ length: count }, (_, i) =>
    stacked
      ? { x: 0, y: (i * height) / count + top, width, height: height / count - top }
      : { x: (i * width) / count, y: top, width: width / count, height: height - top },
  );
}

/** How large a rank is drawn, so that so many have room beside each other. */
function radiusFor(beside: number, width: number): number {
  return Math.max(5, Math.min(14, width / (2.6 * beside)));
}

export function layOut(call: Call, transfers: Transfer[], width: number, height: number): Layout {
  const { ranks } = call;
  const participants = call.participants.length;
  const box = { x: 0, y: 0, width, height };
  const edges = edgesOf(transfers);
  const whole = (part: Pick<Panel, 'spots'> & Partial<Panel>): Panel => ({
    title: '',
    chunks: null,
    ...box,
    edges,
    boxes: [],
    ...part,
  });
  const all = Array.from({ length: ranks }, (_, rank) => rank);
  if (participants > ranks) {
    const radius = radiusFor(ranks > 16 ? Math.ceil(ranks / 2) : ranks, width);
    return { kind: 'switch', radius, panels: [whole({ spots: switchSpots(edges, ranks, participants, box, radius) })] };
  }
  const round = radiusFor(ranks, Math.PI * (Math.min(width, height) - 36));
  const ring = ringOrder(edges, ranks);
  if (ring) {
    return { kind: ring.closed ? 'ring' : 'chain', radius: round, panels: [whole({ spots: circle(ring.order, box, round) })] };
  }
  const trees = treesOf(transfers);
  const hub = all.find((rank) => edges.every(({ from, to }) => from === rank || to === rank));
  if (hub !== undefined && ranks > 3) {
    const spots = circle(all.filter((rank) => rank !== hub), box, round);
    return { kind: 'star', radius: round, panels: [whole({ spots: [...spots, { participant: hub, x: width / 2, y: height / 2 }] })] };
  }
  if (trees) {
    const places = panelsBeside(trees.length, width, height, trees.length > 1);
    const radius = Math.min(radiusFor(Math.ceil(ranks / 2) + 1, places[0].width), (places[0].height - 16) / (2.8 * (depthOf(trees) + 1)));
    return {
      kind: 'tree',
      radius,
      panels: trees.map(({ chunks, parents }, i) => ({
        title: trees.length > 1 ? `tree ${i}: chunk${chunks.size > 1 ? 's' : ''} ${[...chunks].join(', ')}` : '',
        chunks,
        ...places[i],
        spots: treeSpots(parents, places[i], radius),
        edges: edgesOf(transfers.filter((each) => chunks.has(each.first))),
        boxes: [],
      })),
    };
  }
  if (ranks > 2 && (call.collective === 'all_to_all' || edges.length > 0.6 * ranks * (ranks - 1))) {
    return { kind: 'matrix', radius: round, panels: [whole({ spots: [] })] };
  }
  const nodes = new Set(call.nodes);
  if (nodes.size > 1 && nodes.size < ranks) {
    const radius = radiusFor(Math.ceil(ranks / nodes.size), (Math.PI * Math.min(width / Math.ceil(Math.sqrt(nodes.size)), height)) / 2);
    return { kind: 'groups', radius, panels: [whole(groupSpots(call.nodes, box, radius))] };
  }
  if (isCube(edges, ranks)) {
    const wide = Math.min(width, 2 * height);
    const middle = { x: (width - wide) / 2, y: 0, width: wide, height };
    return { kind: 'cube', radius: round, panels: [whole({ spots: cubeSpots(ranks, middle, round) })] };
  }
  return { kind: 'circle', radius: round, panels: [whole({ spots: circle(all, box, round) })] };
}

function depthOf(trees: { parents: Map<number, number> }[]): number {
  const depth = (parents: Map<number, number>, rank: number): number => {
    const parent = parents.get(rank)!;
    return parent < 0 ? 0 : 1 + depth(parents, parent);
  };
  return Math.max(...trees.flatMap(({ parents }) => [...parents.keys()].map((rank) => depth(parents, rank))));
}
