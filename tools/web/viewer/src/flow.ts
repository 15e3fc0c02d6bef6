// The steps of the plan behind a call: which step each message is of, and whose contributions it carries.

import type { PlanSteps } from './data';
import type { Play } from './play';

export interface Transfer {
  step: number; // from 1
  phase: string;
  from: number;
  to: number;
  lane: number;
  first: number; // chunk
  count: number;
  reduce: boolean;
  whose: number[]; // ranks that are in the chunk; of several chunks in any of them
}

/** A message on its way. */
export interface Moving {
  transfer: Transfer;
  begin: number;
  end: number;
  loop: number;
}

export interface PhaseSpan {
  name: string;
  begin: number;
  end: number;
}

export function transfersOf(plan: PlanSteps): Transfer[] {
  return plan.steps.flatMap((step, index) =>
    step.transfers.map(([from, to, lane, first, count, reduce, ...halves]) => {
      const whose = new Set<number>();
      halves.forEach((bits, i) => {
        for (let bit = 0; bit < 32; ++bit) if ((bits >>> bit) & 1) whose.add(bit + 32 * (i % 2));
      });
      return {
        step: index + 1,
        phase: step.phase,
        from,
        to,
        lane,
        first,
        count,
        reduce: reduce === 1,
        whose: [...whose].sort((a, b) => a - b),
      };
    }),
  );
}

/** The messages of one channel, each with the transfer of the plan that it is a slice of. */
export class Flow {
  readonly transfers: Transfer[];
  readonly steps: number;
  readonly moving: Moving[] = []; // in order of their begin
  readonly phases: PhaseSpan[];
  readonly loops: number;

  constructor(play: Play, channel: number, plan: PlanSteps) {
    this.transfers = transfersOf(plan);
    this.steps = plan.steps.length;
    const { messages, records } = play.call;
    const planned = new Map<string, Transfer[]>();
    for (const each of this.transfers) {
      const key = `${each.from}/${each.to}/${each.first}`;
      planned.set(key, [...(planned.get(key) ?? []), each]);
    }
    const places = new Map<string, { place: number; primitive: number }>();
    let loops = 1;
    const order = Array.from(messages.from.keys()).filter((i) => messages.channel[i] === channel);
    order.sort((a, b) => records.begin[messages.begun[a]] - records.begin[messages.begun[b]] || a - b);
    for (const i of order) {
      const begun = messages.begun[i];
      const pair = `${messages.from[i]}/${messages.to[i]}/${records.chunk[begun]}`;
      const key = `${pair}/${records.loop[begun]}`;
      const place = places.get(key) ?? { place: -1, primitive: -1 };
      if (records.step[begun] !== place.primitive) {
        place.place += 1;
        place.primitive = records.step[begun];
      }
      places.set(key, place);
      const transfer = planned.get(pair)?.[place.place];
      if (!transfer) continue;
      loops = Math.max(loops, records.loop[begun] + 1);
      this.moving.push({
        transfer,
        begin: records.moving[begun],
        end: Math.max(records.begin[messages.received[i]], records.end[messages.sent[i]]),
        loop: records.loop[begun],
      });
    }
    this.loops = loops;
    this.phases = this.findPhases();
  }

  private findPhases(): PhaseSpan[] {
    const spans = new Map<string, PhaseSpan>();
    for (const { transfer, begin, end } of this.moving) {
      const span = spans.get(transfer.phase) ?? { name: transfer.phase, begin, end };
      span.begin = Math.min(span.begin, begin);
      span.end = Math.max(span.end, end);
      spans.set(transfer.phase, span);
    }
    return [...spans.values()].filter((span) => span.name !== '');
  }

  at(time: number): Moving[] {
    return this.moving.filter((each) => each.begin <= time && time < each.end);
  }

  /** "step 3 of 14, reduce-scatter". */
  words(time: number): string {
    let now = this.at(time);
    if (now.length === 0) {
      const begun = this.moving.filter((each) => each.begin <= time);
      if (begun.length === 0) return `before step 1 of ${this.steps}`;
      if (begun.length === this.moving.length) return `all ${this.steps} steps are done`;
      now = begun.slice(-1);
    }
    const steps = now.map(({ transfer }) => transfer.step);
    const least = Math.min(...steps);
    const most = Math.max(...steps);
    const phases = [...new Set(now.map(({ transfer }) => transfer.phase))].filter((name) => name !== '');
    const loops = [...new Set(now.map(({ loop }) => loop + 1))];
    const loopWords = this.loops > 1 ? `, loop ${Math.min(...loops)} of ${this.loops}` : '';
    const stepWords = least === most ? `step ${least} of ${this.steps}` : `steps ${least} to ${most} of ${this.steps}`;
    return `${stepWords}${phases.length > 0 ? `, ${phases.join(' + ')}` : ''}${loopWords}`;
  }
}

/** Records that the end of the call waited for, from the first to the last; and the ranks of the messages between them. */
export function criticalPath(play: Play): { records: Set<number>; hops: [number, number][] } {
  const { over, causedBy, cause } = play.call.records;
  const records = new Set<number>();
  const hops: [number, number][] = [];
  const none = 0xffffffff;
  let record = over.reduce((best, each, i) => (each > over[best] ? i : best), 0);
  while (record !== none && record < over.length && !records.has(record)) {
    records.add(record);
    const before = causedBy[record];
    if (cause[record] === 2 && before !== none) hops.push([play.participantOf(before), play.participantOf(record)]);
    record = before;
  }
  return { records, hops: hops.reverse() };
}
