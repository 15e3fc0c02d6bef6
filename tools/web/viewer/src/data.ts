// What the page shows, as tools/collsim/trace/view_data.cpp writes it. Times are microseconds.

export interface Device {
  id: number;
  name: string;
  kind: string;
  node: number;
}

export interface Link {
  id: number;
  name: string;
  from: number;
  to: number;
  kind: string;
  rate: number; // GB/s
}

export interface Machine {
  name: string;
  gpus: number[]; // by rank
  devices: Device[];
  links: Link[];
}

/** Slices and pieces of slices, in the order in which they begin. */
export interface Records {
  begin: Float64Array;
  moving: Float64Array;
  end: Float64Array;
  over: Float64Array;
  bytes: Float64Array;
  thread: Uint32Array;
  kind: Uint32Array;
  cause: Uint32Array;
  causedBy: Uint32Array;
  loop: Uint32Array;
  step: Uint32Array;
  slice: Uint32Array;
  chunk: Uint32Array;
  chunks: Uint32Array;
}

/** Messages; `begun`, `sent`, `received`, `taken` are numbers of records. */
export interface Messages {
  channel: Uint32Array;
  from: Uint32Array;
  to: Uint32Array;
  begun: Uint32Array;
  sent: Uint32Array;
  received: Uint32Array;
  taken: Uint32Array;
  route: Uint32Array;
}

/** That a buffer gets something new when a record is over: bits of the ranks that are in the sum. */
export interface Sums {
  record: Uint32Array;
  chunk: Uint32Array;
  low: Uint32Array;
  high: Uint32Array;
}

export interface Curve {
  name: string;
  at: Float64Array;
  value: Float64Array; // per cent
}

/** The steps of one schedule. A transfer: from, to, lane, first chunk, chunks, whether it is added, and the halves of the
 * bits of the ranks that are in each chunk. */
export interface PlanSteps {
  steps: { phase: string; transfers: number[][] }[];
}

export interface Call {
  name: string;
  faults: string[]; // of its machine
  wrong: string; // why the schedule is no such collective; empty if it is one
  faultyLinks: number[]; // ids
  faultyRanks: number[];
  collective: string;
  algorithm: string;
  protocol: string;
  size: number;
  time: number;
  launch: number;
  ranks: number;
  participants: string[];
  channels: number;
  chunks: number;
  divided: boolean;
  threads: [participant: number, channel: number, lane: number][];
  records: Records;
  messages: Messages;
  routes: number[][];
  sums: Sums;
  nodes: number[]; // by rank
  root: number;
  plans: (PlanSteps | null)[];
  planOfChannel: number[];
  before: number[][]; // how many ranks are in the sum: [rank][chunk]
  after: number[][];
  utilisation: Curve[];
}

export interface View {
  title: string;
  command: string;
  embedded: boolean;
  machine: Machine;
  calls: Call[];
}

interface Place {
  type: 'f64' | 'u32';
  at: number;
  length: number;
}

function isPlace(value: unknown): value is Place {
  return typeof value === 'object' && value !== null && 'at' in value && 'length' in value && 'type' in value;
}

/** The header with its arrays in place of what says where they are. */
function withArrays(value: unknown, bytes: ArrayBuffer, start: number): unknown {
  if (isPlace(value)) {
    const from = start + value.at;
    return value.type === 'f64'
      ? new Float64Array(bytes, from, value.length)
      : new Uint32Array(bytes, from, value.length);
  }
  if (Array.isArray(value)) return value.map((each) => withArrays(each, bytes, start));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, withArrays(each, bytes, start)]),
  );
}

async function inflate(packed: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Response(stream).arrayBuffer();
}

export async function readView(text: string): Promise<View> {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const bytes = await inflate(packed);
  const lengthBytes = 4;
  const length = new DataView(bytes).getUint32(0, true);
  const header: unknown = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, lengthBytes, length)));
  const start = Math.ceil((lengthBytes + length) / 8) * 8;
  return withArrays(header, bytes, start) as View;
}
