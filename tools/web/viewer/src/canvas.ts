// What the three pictures have in common.

import { theme } from './colours';

export interface Size {
  width: number;
  height: number;
}

/** A cleared context whose unit is a CSS pixel. */
export function prepare(canvas: HTMLCanvasElement): { context: CanvasRenderingContext2D; size: Size } {
  const ratio = window.devicePixelRatio || 1;
  const size = { width: canvas.clientWidth, height: canvas.clientHeight };
  const width = Math.round(size.width * ratio);
  const height = Math.round(size.height * ratio);
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
  }
  const context = canvas.getContext('2d')!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = theme().paper;
  context.fillRect(0, 0, size.width, size.height);
  context.font = '11px sans-serif';
  context.textBaseline = 'middle';
  return { context, size };
}

/** What is under the pointer, in words. */
export interface Hint {
  x: number;
  y: number;
  lines: string[];
}

export function bytesText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  let value = bytes;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    ++unit;
  }
  return `${Number(value.toFixed(value < 10 ? 2 : 1))} ${units[unit]}`;
}

export function timeText(microseconds: number): string {
  if (microseconds >= 1e6) return `${(microseconds / 1e6).toFixed(3)} s`;
  if (microseconds >= 1e4) return `${(microseconds / 1e3).toFixed(3)} ms`;
  return `${microseconds.toFixed(2)} us`;
}
