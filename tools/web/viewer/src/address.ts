// What is seen, in the page's address: whoever opens it sees the same.

export interface Seen {
  time: number;
  channel: number; // -1: all
  rank: number; // -1: none
  speed: number;
  begin: number;
  end: number; // of the timeline; 0: the whole call
  picture: number; // 0: as the call suggests, 1: logic, 2: wiring
  path: number; // 1: the critical path is marked
}

const names: [keyof Seen, string][] = [
  ['time', 't'],
  ['channel', 'channel'],
  ['rank', 'rank'],
  ['speed', 'speed'],
  ['begin', 'from'],
  ['end', 'to'],
  ['picture', 'picture'],
  ['path', 'path'],
];

export function readAddress(hash: string, usual: Seen): Seen {
  const given = new URLSearchParams(hash.replace(/^#/, ''));
  const seen = { ...usual };
  for (const [key, name] of names) {
    const value = Number(given.get(name) ?? NaN);
    if (Number.isFinite(value)) seen[key] = value;
  }
  return seen;
}

export function writeAddress(seen: Seen): string {
  const parts = new URLSearchParams();
  for (const [key, name] of names) parts.set(name, String(Number(seen[key].toFixed(4))));
  return `#${parts.toString()}`;
}
