// What each rank does on a channel, over time: a row per rank and lane.

import { bytesText, prepare, type Size, timeText } from './canvas';
import { phaseColours, stateColours, theme } from './colours';
import { flowOf, pathOf } from './logic';
import type { Play, Row } from './play';

export const labelWidth = 92;
const axisHeight = 32;
const phaseHeight = 13; // within the axis' height

export interface Window {
  begin: number;
  end: number;
}

export class TimelinePicture {
  private rows: Row[] = [];
  private shown = '';
  /** What does not change while the clock runs, and for what it was drawn. */
  private readonly still = document.createElement('canvas');
  private stillKey = '';

  constructor(private readonly play: Play) {}

  /** A row needs a pixel: of more rows only every second, third and so on is there. */
  private rowsOf(channel: number, height: number): Row[] {
    const key = `${channel}/${height}`;
    if (key !== this.shown) {
      const rows = channel < 0 ? this.play.rows : this.play.rowsOf(channel);
      const every = Math.max(1, Math.ceil(rows.length / Math.max(height - axisHeight, 1)));
      this.rows = rows.filter((_, i) => i % every === 0);
      this.shown = key;
    }
    return this.rows;
  }

  draw(canvas: HTMLCanvasElement, time: number, channel: number, window: Window, chosen: number, path: boolean) {
    if (canvas.clientWidth === 0) return; // not shown
    const { context, size } = prepare(canvas);
    const scale = (size.width - labelWidth) / (window.end - window.begin);
    const key = [canvas.width, canvas.height, channel, window.begin, window.end, chosen, path, theme().paper].join();
    if (key !== this.stillKey) {
      this.stillKey = key;
      this.drawRows(context, size, channel, window, chosen, path);
      this.still.width = canvas.width;
      this.still.height = canvas.height;
      this.still.getContext('2d')!.drawImage(canvas, 0, 0);
    } else {
      context.drawImage(this.still, 0, 0, size.width, size.height);
    }
    const x = labelWidth + (time - window.begin) * scale;
    if (x < labelWidth || x > size.width) return;
    context.fillStyle = theme().mark;
    context.fillRect(x - 0.5, 0, 1, size.height);
  }

  private drawRows(context: CanvasRenderingContext2D, size: Size, channel: number, window: Window, chosen: number, path: boolean) {
    const rows = this.rowsOf(channel, size.height);
    const height = Math.max((size.height - axisHeight) / rows.length, 1);
    const scale = (size.width - labelWidth) / (window.end - window.begin);
    context.save();
    context.beginPath();
    context.rect(labelWidth, 0, size.width - labelWidth, size.height);
    context.clip();
    rows.forEach((row, i) => this.drawRow(context, row, axisHeight + i * height, height, window, scale));
    if (path) this.drawPath(context, rows, height, window, scale);
    this.drawPhases(context, channel, window, scale);
    context.restore();
    this.drawLabels(context, rows, height, chosen);
    this.drawAxis(context, size.width, window, scale);
  }

  /**
   * A span wider than a pixel is drawn as it is. Narrower ones that lie in one pixel become one
   * rectangle, of what takes most of it.
   */
  private drawRow(context: CanvasRenderingContext2D, row: Row, y: number, height: number, window: Window, scale: number) {
    const { begin, moving, end, over, kind } = this.play.call.records;
    const gap = height > 6 ? 1 : 0;
    const spans = new Map<string, number>();
    let pixel = -1;
    const flush = () => {
      let most = 0;
      let colour = '';
      spans.forEach((share, each) => {
        if (share > most) {
          most = share;
          colour = each;
        }
      });
      if (colour) this.fill(context, colour, labelWidth + pixel, y, 1, height - gap);
      spans.clear();
    };
    const span = (from: number, to: number, colour: string) => {
      if (to < window.begin || from > window.end || to <= from) return;
      const x = (from - window.begin) * scale;
      const width = (to - from) * scale;
      if (width >= 1) {
        this.fill(context, colour, labelWidth + x, y, width, height - gap);
        return;
      }
      if (Math.floor(x) !== pixel) {
        flush();
        pixel = Math.floor(x);
      }
      spans.set(colour, (spans.get(colour) ?? 0) + width);
    };
    let free = 0;
    for (let i = this.firstIn(row, window.begin); i < row.records.length; ++i) {
      const record = row.records[i];
      if (i > 0 && free === 0) free = over[row.records[i - 1]];
      if (free > window.end) break;
      span(free, begin[record], stateColours.wait);
      span(begin[record], moving[record], stateColours.cost);
      span(moving[record], end[record], stateColours[this.play.movingState(kind[record])]);
      span(end[record], over[record], stateColours.cost);
      free = over[record];
    }
    flush();
  }

  private firstIn(row: Row, time: number): number {
    const { over } = this.play.call.records;
    let low = 0;
    let high = row.records.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (over[row.records[middle]] < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private fill(context: CanvasRenderingContext2D, colour: string, x: number, y: number, width: number, height: number) {
    context.fillStyle = colour;
    context.fillRect(x, y, width, height);
  }

  /** A line over all that the end of the call waited for. */
  private drawPath(context: CanvasRenderingContext2D, rows: Row[], height: number, window: Window, scale: number) {
    const { begin, over } = this.play.call.records;
    const { records } = pathOf(this.play);
    rows.forEach((row, i) => {
      for (const record of row.records) {
        if (!records.has(record)) continue;
        const x = labelWidth + (begin[record] - window.begin) * scale;
        const thick = Math.min(3, height / 2);
        const y = axisHeight + (i + 0.5) * height - thick / 2;
        this.fill(context, theme().mark, x, y, Math.max((over[record] - begin[record]) * scale, 1), thick);
      }
    });
  }

  /** When messages of each phase are on their way. */
  private drawPhases(context: CanvasRenderingContext2D, channel: number, window: Window, scale: number) {
    const phases = flowOf(this.play, channel)?.phases ?? [];
    context.textAlign = 'left';
    phases.forEach((phase, i) => {
      const x = Math.max(labelWidth + (phase.begin - window.begin) * scale, labelWidth);
      const next = phases[i + 1] ? Math.min(phases[i + 1].begin, phase.end) : phase.end;
      const width = labelWidth + ((phases.length > 1 ? next : phase.end) - window.begin) * scale - x;
      if (width <= 0) return;
      this.fill(context, phaseColours[i % phaseColours.length], x, 0, width - 1, phaseHeight);
      context.fillStyle = '#ffffff';
      const wide = context.measureText(phase.name).width + 6 < width;
      if (wide) context.fillText(phase.name, x + 3, phaseHeight / 2);
    });
  }

  private drawLabels(context: CanvasRenderingContext2D, rows: Row[], height: number, chosen: number) {
    context.textAlign = 'left';
    const every = Math.max(1, Math.ceil(11 / height));
    rows.forEach((row, i) => {
      if (i % every !== 0) return;
      context.fillStyle = row.participant === chosen ? theme().chosen : theme().ink;
      context.fillText(row.label, 2, axisHeight + (i + 0.5) * height, labelWidth - 6);
    });
  }

  private drawAxis(context: CanvasRenderingContext2D, width: number, window: Window, scale: number) {
    const step = niceStep((window.end - window.begin) / 8);
    context.textAlign = 'center';
    context.fillStyle = theme().ink;
    for (let at = Math.ceil(window.begin / step) * step; at <= window.end; at += step) {
      const x = labelWidth + (at - window.begin) * scale;
      if (x > width - 24) break;
      context.fillText(timeText(at), x, phaseHeight + (axisHeight - phaseHeight) / 2 - 1);
      context.fillRect(x, axisHeight - 3, 1, 3);
    }
  }

  timeAt(canvas: HTMLCanvasElement, x: number, window: Window): number {
    return window.begin + ((x - labelWidth) / (canvas.clientWidth - labelWidth)) * (window.end - window.begin);
  }

  rowAt(canvas: HTMLCanvasElement, y: number): Row | undefined {
    const height = Math.max((canvas.clientHeight - axisHeight) / this.rows.length, 1);
    return this.rows[Math.floor((y - axisHeight) / height)];
  }

  hint(canvas: HTMLCanvasElement, x: number, y: number, window: Window): string[] {
    const row = this.rowAt(canvas, y);
    if (!row || x < labelWidth) return [];
    const record = this.play.recordAt(row, this.timeAt(canvas, x, window));
    if (record < 0) return [row.label, 'is done'];
    const { begin, moving, end, over, bytes, loop, slice } = this.play.call.records;
    const time = this.timeAt(canvas, x, window);
    if (time < begin[record]) {
      return [row.label, `waits for ${this.play.waitReason(record)}`, `until ${timeText(begin[record])}`];
    }
    return [
      `${row.label}: ${this.play.workName(record)}`,
      this.play.arithmetic(record),
      `${bytesText(bytes[record])}, loop ${loop[record]}, slice ${slice[record]}`,
      `${timeText(begin[record])} to ${timeText(over[record])}; bytes flow from ${timeText(moving[record])} to ${timeText(end[record])}`,
    ];
  }
}

/** 1, 2 or 5 times a power of ten. */
function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least) ?? power;
}
