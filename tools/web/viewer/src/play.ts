// A call as the page needs it: what is where at a time.

import type { Call } from './data';

export const kinds = [
  'send',
  'copy_send',
  'recv',
  'recv_copy_send',
  'recv_reduce_send',
  'recv_reduce_copy',
  'recv_reduce_copy_send',
  'recv_send',
];
const reducing = new Set([4, 5, 6, 7]);
const noRecord = 0xffffffff;

export type State = 'wait' | 'cost' | 'send' | 'reduce' | 'receive';

export interface Row {
  thread: number;
  label: string;
  participant: number;
  records: number[]; // in order of time
}

/** That a rank's sums of a chunk get so many contributions more. */
interface Change {
  at: number;
  rank: number;
  chunk: number;
  more: number;
}

export class Play {
  readonly rows: Row[];
  private readonly events: Map<number, Float64Array> = new Map();
  /** Messages that a record receives, sends; by record of the first piece. */
  readonly receives: Map<number, number[]> = new Map();
  readonly sends: Map<number, number[]> = new Map();
  private readonly sumOrder: Uint32Array;
  /** The first piece of each record's slice. */
  private readonly firstPiece: Uint32Array;

  constructor(readonly call: Call) {
    this.rows = call.threads.map(([participant, channel, lane], thread) => ({
      thread,
      participant,
      label: `${call.participants[participant]} ch ${channel}${lane > 0 ? ` lane ${lane}` : ''}`,
      records: [],
    }));
    call.records.thread.forEach((thread, record) => this.rows[thread].records.push(record));
    this.firstPiece = this.findFirstPieces();
    for (let i = 0; i < call.messages.from.length; ++i) {
      append(this.sends, call.messages.begun[i], i);
      append(this.receives, call.messages.received[i], i);
    }
    const { over } = call.records;
    this.sumOrder = Uint32Array.from(call.sums.record.keys()).sort(
      (a, b) => over[call.sums.record[a]] - over[call.sums.record[b]],
    );
  }

  private findFirstPieces(): Uint32Array {
    const { loop, step, slice } = this.call.records;
    const first = new Uint32Array(loop.length);
    for (const row of this.rows) {
      row.records.forEach((record, i) => {
        const before = row.records[i - 1];
        const goesOn =
          i > 0 && loop[before] === loop[record] && step[before] === step[record] && slice[before] === slice[record];
        first[record] = goesOn ? first[before] : record;
      });
    }
    return first;
  }

  channelOf(record: number): number {
    return this.call.threads[this.call.records.thread[record]][1];
  }

  participantOf(record: number): number {
    return this.call.threads[this.call.records.thread[record]][0];
  }

  rowsOf(channel: number): Row[] {
    return this.rows.filter((row) => this.call.threads[row.thread][1] === channel);
  }

  /** Where something begins or ends on a channel, in order. */
  eventsOf(channel: number): Float64Array {
    let events = this.events.get(channel);
    if (!events) {
      const times = new Set<number>([0, this.call.time]);
      for (const row of this.rowsOf(channel)) {
        for (const record of row.records) {
          times.add(this.call.records.begin[record]);
          times.add(this.call.records.over[record]);
        }
      }
      events = Float64Array.from(times).sort();
      this.events.set(channel, events);
    }
    return events;
  }

  stateOf(record: number, time: number): State {
    const { begin, moving, end, over, kind } = this.call.records;
    if (time < begin[record] || time > over[record]) return 'wait';
    if (time < moving[record] || time > end[record]) return 'cost';
    return this.movingState(kind[record]);
  }

  movingState(kind: number): State {
    if (reducing.has(kind)) return 'reduce';
    return kind === 2 ? 'receive' : 'send';
  }

  /** The record that a row is at, or waits for; -1 after the last. */
  recordAt(row: Row, time: number): number {
    const { over } = this.call.records;
    let low = 0;
    let high = row.records.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (over[row.records[middle]] < time) low = middle + 1;
      else high = middle;
    }
    return low < row.records.length ? row.records[low] : -1;
  }

  workName(record: number): string {
    const { kind, chunk, chunks } = this.call.records;
    const name = kinds[kind[record]];
    return chunks[record] === 1
      ? `${name} chunk ${chunk[record]}`
      : `${name} chunks ${chunk[record]}-${chunk[record] + chunks[record] - 1}`;
  }

  waitReason(record: number): string {
    const { cause, causedBy } = this.call.records;
    if (cause[record] === 0 || causedBy[record] === noRecord) return 'the launch';
    const peer = this.call.participants[this.participantOf(causedBy[record])];
    if (cause[record] === 2) return `a message of ${peer}`;
    if (cause[record] === 3) return `a free slot of ${peer}`;
    return 'its thread block';
  }

  /** "own + rank 2 -> rank 4": where the data of a record comes from and goes to. */
  arithmetic(record: number): string {
    const { kind } = this.call.records;
    const { from, to } = this.call.messages;
    const name = (participant: number) => this.call.participants[participant];
    const sources = (this.receives.get(this.firstPiece[record]) ?? []).map((message) => name(from[message]));
    if (kind[record] < 2 || (kind[record] >= 4 && kind[record] <= 6)) sources.unshift('own');
    const targets = (this.sends.get(this.firstPiece[record]) ?? []).map((message) => name(to[message]));
    return `${sources.join(' + ') || 'own'}${targets.length > 0 ? ` -> ${targets.join(', ')}` : ' -> own buffer'}`;
  }

  /** Records of a channel that began at or before a time, the latest first. */
  latest(channel: number, time: number, count: number): number[] {
    const { begin } = this.call.records;
    const found: number[] = [];
    let low = 0;
    let high = begin.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (begin[middle] <= time) low = middle + 1;
      else high = middle;
    }
    for (let record = low - 1; record >= 0 && found.length < count; --record) {
      if (this.channelOf(record) === channel) found.push(record);
    }
    return found;
  }

  /**
   * How many ranks are in the sums of a channel's chunks at a time, a mean over loops and slices:
   * [rank][chunk]. Empty where there are too many ranks.
   */
  buffersAt(channel: number, time: number): Float64Array[] {
    const { call } = this;
    const parts = this.partsOf(channel);
    const changes = this.changesOf(channel);
    if (this.filled.channel !== channel || this.filled.time > time) {
      this.filled = {
        channel,
        time,
        next: 0,
        totals: call.before.map((chunks) => Float64Array.from(chunks, (count, chunk) => count * parts[chunk])),
      };
    }
    const { filled } = this;
    filled.time = time;
    for (; filled.next < changes.length && changes[filled.next].at <= time; ++filled.next) {
      const { rank, chunk, more } = changes[filled.next];
      filled.totals[rank][chunk] += more;
    }
    return filled.totals.map((chunks, rank) =>
      chunks.map((total, chunk) => (parts[chunk] > 0 ? total / parts[chunk] : call.before[rank][chunk])),
    );
  }

  private filled: { channel: number; time: number; next: number; totals: Float64Array[] } = {
    channel: -1,
    time: 0,
    next: 0,
    totals: [],
  };
  private origins: { channel: number; time: number; next: number; held: number[][][] } = {
    channel: -1,
    time: 0,
    next: 0,
    held: [],
  };

  /** The ranks that are in each chunk, by the slice that was stored last: [rank][chunk]. */
  originsAt(channel: number, time: number): number[][][] {
    const { call } = this;
    if (this.origins.channel !== channel || this.origins.time > time) {
      const held = call.before.map((chunks, rank) => chunks.map((count) => (count > 0 ? [rank] : [])));
      this.origins = { channel, time, next: 0, held };
    }
    const { origins } = this;
    origins.time = time;
    const { record, chunk, low, high } = call.sums;
    for (; origins.next < this.sumOrder.length; ++origins.next) {
      const sum = this.sumOrder[origins.next];
      if (call.records.over[record[sum]] > time) break;
      const rank = this.participantOf(record[sum]);
      if (this.channelOf(record[sum]) !== channel || rank >= call.ranks) continue;
      origins.held[rank][chunk[sum]] = [...bitsOf(low[sum], 0), ...bitsOf(high[sum], 32)];
    }
    return origins.held;
  }

  private readonly changes: Map<number, Change[]> = new Map();

  /** By how much sums of a channel grow, in order of time. */
  private changesOf(channel: number): Change[] {
    let changes = this.changes.get(channel);
    if (changes) return changes;
    changes = [];
    const { call } = this;
    const held = new Map<string, number>();
    for (const i of this.sumOrder) {
      const record = call.sums.record[i];
      if (this.channelOf(record) !== channel) continue;
      const rank = this.participantOf(record);
      if (rank >= call.ranks) continue;
      const chunk = call.sums.chunk[i];
      const key = `${rank}/${chunk}/${call.records.loop[record]}/${call.records.slice[record]}`;
      const count = popcount(call.sums.low[i]) + popcount(call.sums.high[i]);
      changes.push({
        at: call.records.over[record],
        rank,
        chunk,
        more: count - (held.get(key) ?? call.before[rank][chunk]),
      });
      held.set(key, count);
    }
    this.changes.set(channel, changes);
    return changes;
  }

  private readonly parts: Map<number, Float64Array> = new Map();

  /** Loops times slices of each chunk on a channel. */
  private partsOf(channel: number): Float64Array {
    let parts = this.parts.get(channel);
    if (!parts) {
      const seen = new Set<string>();
      parts = new Float64Array(this.call.chunks);
      const { chunk, chunks, loop, slice } = this.call.records;
      for (const row of this.rowsOf(channel)) {
        for (const record of row.records) {
          for (let i = 0; i < chunks[record]; ++i) {
            const key = `${chunk[record] + i}/${loop[record]}/${slice[record]}`;
            if (!seen.has(key)) parts[chunk[record] + i] += 1;
            seen.add(key);
          }
        }
      }
      this.parts.set(channel, parts);
    }
    return parts;
  }
}

function append(lists: Map<number, number[]>, key: number, value: number) {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}

/** The numbers of the bits that are set, the lowest being `first`. */
function bitsOf(bits: number, first: number): number[] {
  return Array.from({ length: 32 }, (_, bit) => bit).flatMap((bit) => ((bits >>> bit) & 1 ? [first + bit] : []));
}

export function popcount(bits: number): number {
  let count = 0;
  for (let rest = bits >>> 0; rest !== 0; rest &= rest - 1) ++count;
  return count;
}

/** The last index whose value is at most `time`, or -1. */
export function lastAt(times: Float64Array, time: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
