// Opens a trace and the JSON of the same call in Perfetto's trace processor, and compares: no errors, the same slices
// with the same sums for every thread, as many arrows, the same end.
//
//   node check.mjs PROCESSOR TRACE.pftrace TRACE.json

import fs from 'node:fs';
import { openTrace } from './processor.mjs';

console.warn = () => {}; // the processor's own remarks on fields that it does not know

async function rowsOf(engine, sql, columns) {
  const result = await engine.query(sql);
  const rows = [];
  for (const row = result.iter(columns); row.valid(); row.next()) {
    rows.push(Object.fromEntries(Object.keys(columns).map((name) => [name, row[name]])));
  }
  return rows;
}

/** Slices and their sum in nanoseconds, by "process/thread/name". */
async function sumsOfTrace(engine) {
  const rows = await rowsOf(
    engine,
    `select process.name || '/' || thread.name || '/' || slice.name as what, count() as n, sum(dur) as ns
     from slice join thread_track on slice.track_id = thread_track.id join thread using (utid)
     join process using (upid) group by what`,
    { what: 'str', n: 0, ns: 0 },
  );
  return new Map(rows.map(({ what, n, ns }) => [what, `${n} slices, ${ns} ns`]));
}

function sumsOfJson(events) {
  const named = (what) => new Map(events.filter((event) => event.name === what)
    .map(({ pid, tid, args }) => [`${pid}/${tid}`, args.name]));
  const threads = named('thread_name');
  const processes = named('process_name');
  const sums = new Map();
  for (const { ph, name, pid, tid, dur } of events) {
    if (ph !== 'X') continue;
    const what = `${processes.get(`${pid}/0`)}/${threads.get(`${pid}/${tid}`)}/${name}`;
    const [n, ns] = sums.get(what) ?? [0, 0];
    sums.set(what, [n + 1, ns + Math.round(dur * 1000)]);
  }
  return new Map([...sums].map(([what, [n, ns]]) => [what, `${n} slices, ${ns} ns`]));
}

function compare(problems, what, found, expected) {
  if (found !== expected) problems.push(`${what}: ${found}, expected ${expected}`);
}

const [processor, traceFile, jsonFile] = process.argv.slice(2);
const events = JSON.parse(fs.readFileSync(jsonFile, 'utf8')).traceEvents;
const engine = await openTrace(processor, traceFile);
const problems = [];
const errors = await rowsOf(
  engine,
  "select name, value from stats where severity in ('error', 'data_loss') and value > 0",
  { name: 'str', value: 0 },
);
for (const { name, value } of errors) problems.push(`the trace processor counts ${value} of ${name}`);
const found = await sumsOfTrace(engine);
const expected = sumsOfJson(events);
for (const what of new Set([...found.keys(), ...expected.keys()])) {
  compare(problems, what, found.get(what), expected.get(what));
}
const [{ flows }] = await rowsOf(engine, 'select count() as flows from flow', { flows: 0 });
compare(problems, 'messages', flows, events.filter((event) => event.ph === 's').length);
const [{ values }] = await rowsOf(engine, 'select count() as "values" from counter',
  { values: 0 });
compare(problems, 'values of counters', values, events.filter((event) => event.ph === 'C').length);
engine.close();
for (const problem of problems.slice(0, 10)) console.error(`${traceFile}: ${problem}`);
if (problems.length === 0) console.log(`${traceFile}: ${found.size} kinds of slices, ${flows} messages, as expected`);
process.exit(problems.length === 0 ? 0 : 1);
