// The buffers of every rank: a cell per chunk, filled as contributions arrive.

import { prepare } from './canvas';
import { originColour, theme } from './colours';
import type { Play } from './play';

const labelWidth = 56;
const mostCells = 128;

export class BufferPicture {
  constructor(private readonly play: Play) {}

  draw(canvas: HTMLCanvasElement, time: number, channel: number, chosen: number) {
    const { context, size } = prepare(canvas);
    const { call } = this.play;
    context.textAlign = 'left';
    if (call.before.length === 0) {
      context.fillStyle = theme().soft;
      context.fillText('Buffers are shown for up to 64 ranks.', 4, size.height / 2);
      return;
    }
    const buffers = this.play.buffersAt(Math.max(channel, 0), time);
    const height = size.height / call.ranks;
    const cells = Math.min(call.chunks, mostCells);
    const width = (size.width - labelWidth) / cells;
    const origins = this.play.originsAt(Math.max(channel, 0), time);
    const striped = height >= 18 && width >= 2 * call.ranks;
    buffers.forEach((chunks, rank) => {
      const y = rank * height;
      context.fillStyle = rank === chosen ? theme().chosen : theme().ink;
      if (height > 8 || rank % 4 === 0) context.fillText(`rank ${rank}`, 2, y + height / 2, labelWidth - 4);
      for (let cell = 0; cell < cells; ++cell) {
        const chunk = Math.floor((cell * call.chunks) / cells);
        const share = chunks[chunk] / call.ranks;
        const x = labelWidth + cell * width;
        const due = call.after[rank][chunk];
        const isFinal = due > 0 && Math.abs(chunks[chunk] - due) < 1e-9;
        context.fillStyle = isFinal ? '#009e73' : shade(share);
        context.fillRect(x, y, Math.max(width - 1, 1), Math.max(height - 1, 1));
        if (striped) this.drawOrigins(context, origins[rank][chunk], x, y + height - 8, width - 1);
        if (width < 16 || height < 11) continue;
        context.fillStyle = share > 0.5 || isFinal || theme().dark ? '#ffffff' : '#333333';
        context.fillText(Number(chunks[chunk].toFixed(1)).toString(), x + 3, y + (striped ? height - 8 : height) / 2, width - 5);
      }
    });
  }

  /** A stripe for each rank, in its colour where it is in the sum. */
  private drawOrigins(context: CanvasRenderingContext2D, origins: number[], x: number, y: number, width: number) {
    const { ranks } = this.play.call;
    for (const origin of origins) {
      context.fillStyle = originColour(origin, ranks);
      context.fillRect(x + (origin * width) / ranks, y, Math.max(width / ranks, 1), 6);
    }
  }

  hint(canvas: HTMLCanvasElement, x: number, y: number, time: number, channel: number): string[] {
    const { call } = this.play;
    if (call.before.length === 0 || x < labelWidth) return [];
    const cells = Math.min(call.chunks, mostCells);
    const rank = Math.floor((y * call.ranks) / canvas.clientHeight);
    const cell = Math.floor(((x - labelWidth) * cells) / (canvas.clientWidth - labelWidth));
    if (rank < 0 || rank >= call.ranks || cell < 0 || cell >= cells) return [];
    const chunk = Math.floor((cell * call.chunks) / cells);
    const held = this.play.buffersAt(Math.max(channel, 0), time)[rank][chunk];
    const due = call.after[rank][chunk];
    return [
      `rank ${rank}, chunk ${chunk} on channel ${Math.max(channel, 0)}`,
      `the sum of ${Number(held.toFixed(2))} of ${call.ranks} ranks (mean over loops and slices)`,
      due > 0 ? `must be ${due} in the end` : 'nothing is promised here',
    ];
  }
}

function shade(share: number): string {
  if (theme().dark) {
    const dark = Math.round(40 + 70 * share);
    return `rgb(${dark},${dark + 6},${dark + 34})`;
  }
  const light = Math.round(245 - 150 * share);
  return `rgb(${light},${Math.round(light + 8 * share)},${Math.min(255, light + 40)})`;
}
