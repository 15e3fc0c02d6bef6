// Asks the command and the engine for browsers the same questions. What both print has to be the same, letter by letter, and
// so the exit code and the files that they write.
//
//   node compare.mjs COLLSIM FOLDER [COUNT]
//
// COLLSIM is the command, FOLDER has collsim.js and collsim.wasm. Without COUNT all questions are asked.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { engineOf, root } from './parts.mjs';

const [command, folder, count] = process.argv.slice(2);

/** Numbers below `bound` that are the same in every run (mulberry32). */
function randomBelow(seed) {
  let state = seed;
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
}

const small = ['hgx-h200', 'dgx-h100', 'dgx-a100', 'dgx-1-v100', 'hgx-b300', 'l40s-8', 'rtx4090-8', 'pcie-8', 'switch-8',
  'a100-mesh-4', 'rtx3090-4-bridged', 'gb200-nvl4', 'hgx-h200-4', 'dgx-b200', 'a6000-4-bridged', 'v100-nvlink-4'];
const clusters = ['dgx-h100-x4', 'dgx-a100-x4', 'aws-p4d-x4', 'gb200-nvl72', 'gcp-a3-mega-x4', 'dgx-h100-x8-4-1', 'switch-64',
  'gh200-x16', 'oci-h100-x4', 'dgx-1-v100-x4', 'kestrel-x16', 'l40s-8-x4', 'polaris-x8', 'dgx-b200-x8', 'a100-pcie-1-x2'];
const large = ['dgx-h100-x64', 'dgx-h100-x512', 'dgx-h100-x16384', 'gb200-nvl72-x20', 'switch-1024', 'dgx-b200-x64'];
const collectives = ['all_reduce', 'all_gather', 'reduce_scatter', 'broadcast', 'reduce', 'send_recv', 'all_to_all', 'gather',
  'scatter'];
const textbook = ['ring', 'tree', 'double_binary_tree', 'recursive_halving_doubling', 'one_shot', 'two_shot', 'hierarchical',
  'parameter_server'];
const sizes = ['8', '1K', '24K', '100000', '1M', '3M', '64M', '1G'];
const formats = ['json', 'json', 'csv', 'table', 'markdown', 'html', 'jsonl'];

/** Calls of every kind: `count` of them. */
function callQuestions(total) {
  const below = randomBelow(1);
  const oneOf = (list) => list[below(list.length)];
  return Array.from({ length: total }, () => {
    const kind = oneOf(['run', 'run', 'run', 'run', 'estimate', 'estimate', 'explain', 'choose', 'crossover', 'steps', 'expect']);
    const machine = oneOf([...small, ...small, ...clusters, ...(kind === 'estimate' || kind === 'choose' ? large : [])]);
    const collective = oneOf(collectives);
    const format = kind === 'explain' || kind === 'choose' || kind === 'steps' ? oneOf(['json', 'table', 'markdown'])
      : kind === 'expect' ? oneOf(['json', 'table', 'csv', 'prometheus']) : oneOf(formats);
    const words = [kind, machine, '--format', format];
    if (kind === 'steps') return [...words, '-a', oneOf(textbook), '-n', String(2 + below(7)), '-b', oneOf(sizes), '--schedule', 'textbook'].filter((word) => word !== '--schedule' && word !== 'textbook');
    words.push('-c', collective);
    if (kind === 'run' || kind === 'estimate') {
      words.push('-b', oneOf(sizes));
      if (below(3) === 0) words.push('-e', '1G', '-f', '16');
      if (collective === 'all_reduce' && below(2) === 0) words.push('-a', `${oneOf(textbook)},${oneOf(['ring', 'tree'])}`);
      if (below(5) === 0) words.push('--env', oneOf(['NCCL_PROTO=LL', 'NCCL_ALGO=Ring', 'NCCL_MAX_NCHANNELS=4', 'NCCL_P2P_DISABLE=1']));
      if (below(6) === 0) words.push('--nccl-version', oneOf(['2.18', '2.21', '2.24', '2.27', '2.29']));
      if (below(6) === 0) words.push('-n', String(2 + below(7)));
      if (below(8) === 0) words.push('--fault', oneOf(['rank: 1, late: 20us', 'link: node0/gpu0 - node0/nvswitch0, bandwidth: 50%', 'device: node0/gpu0, bandwidth: 50%']));
    } else if (kind === 'explain') {
      words.push('-b', oneOf(sizes));
    }
    return words;
  });
}

/** Files of the repository: their names in a folder of their own, and the arguments that name them. */
const file = (name) => ({ name: path.basename(name), from: path.join(root, name) });

function filesOf(folderName, ending) {
  return readdirSync(path.join(root, folderName)).filter((name) => name.endsWith(ending)).sort()
    .map((name) => file(`${folderName}/${name}`));
}

function studyQuestions() {
  const slow = /x4x8-|8nodes|x8x64|sendrecv/; // half a minute and more
  const published = filesOf('recordings/published', '.yaml').filter(({ name }, i) => i % 6 === 0 && !slow.test(name));
  const matrices = filesOf('tests/data/nvidia-smi', '.txt');
  const machines = [...filesOf('tests/data/nccl-machines', '.xml'), ...filesOf('tests/data/lstopo', '.xml')];
  const schedules = filesOf('docs/learn/schedules', '.yaml');
  const traces = ['step-host-ddp', 'step-fsdp-M-reshard', 'step-tp-S']
    .map((name) => [0, 1].map((rank) => file(`tests/data/kineto/${name}-rank${rank}.json.gz`)));
  const dumps = ['crossed', 'late', 'skip', 'sizes'].map((name) => readdirSync(path.join(root, 'tests/data/flight-recorder', name)).sort()
    .map((dump) => file(`tests/data/flight-recorder/${name}/${dump}`)));
  const about = (args, files) => ({ args: args.flatMap((word) => (word === 'FILES' ? files.map(({ name }) => name) : [word])), files });
  return [
    ...matrices.map((each) => about(['topo', 'import', 'FILES', '--gpu', 'H100'], [each])),
    ...machines.map((each) => about(['topo', 'import', 'FILES'], [each])),
    ...machines.slice(0, 6).map((each) => about(['run', 'FILES', '-b', '16M', '--format', 'json'], [each])),
    ...schedules.map((each) => about(['check', '--algorithm', 'FILES', '--ranks', '2..9'], [each])),
    ...traces.map((each) => about(['replay', 'FILES', '--format', 'json'], each)),
    ...dumps.map((each) => about(['hang', 'FILES', '--format', 'json'], each)),
    ...published.flatMap((log) => [
      { args: ['validate', log.name, '--format', 'json'], files: [log] },
      { args: ['diagnose', log.name, '--format', 'json'], files: [log] },
    ]),
    ...['--help', '--version', 'run --help', 'topo list', 'list --format json', 'list machines', 'calibrate -t hgx-h200 --list',
      'topo show hgx-h200', 'topo show dgx-h100-x4', 'topo show gb200-nvl72', 'topo check dgx-h100-x64', 'check --algorithm ring --ranks 1..9',
      'check --algorithm tree --ranks 2..17', 'check hgx-h200', 'run hgx-h200-all-reduce', 'run hgx-h200-all-reduce --format html',
      'advise hgx-h200 -c all_reduce -b 64M', 'advise dgx-h100-x4 -c all_reduce -b 1M', 'faults dgx-h100-x4 -b 256M -a ring --format json',
      'moe dgx-h100-x4 --tokens 128,4096 --format json', 'moe gb200-nvl72 -n 32 --kernels nvlink-one-sided --type nvfp4',
      'moe dgx-h100-x4 -c moe_dispatch --tokens 4096 --skew hot:4 --explain',
      'plan dgx-h100,dgx-a100 --nodes 1..16 --bytes 35GB --set nic=200Gb/s --format json',
      'plan train dgx-h100,dgx-a100 --nodes 1,2 --model llama2-7b --global-batch 64 --format csv',
      'plan serve dgx-h100,dgx-b200 --model llama3-70b --tp 2,4,8 --batch 1,32', 'plan moe dgx-h100 --ep 8,16,32 --format json',
      'train dgx-h100 --model gpt-7.5b --tp 4 --pp 2 --global-batch 8 --format json',
      'train dgx-a100 --nodes 8 --model gpt-22b --tp 8 --global-batch 64 --recompute full', 'train --validate published',
      'serve dgx-h100 --model llama3-70b --tp 8 --batch 32 --context 4096 --format json',
      'serve dgx-h100 --model llama3-70b --prefill --tp 8 --context 8192', 'sweep sweep-hgx-h200-buffers --best-by size',
      'sweep sweep-hgx-h200-buffers --format jsonl', 'view hgx-h200 -a ring -b 4M --output ring.html',
      'view switch-8 -a ring,tree -b 64K --output two.html', 'trace hgx-h200 -b 1M --output ring.json',
      'crossover hgx-h200 --export-tuner tuner.conf', 'crossover --alpha 1us --bandwidth 50GB/s -n 8 --html times.html --svg times.svg',
      'crossover hgx-h200 --over-ranks 2,4,8 --format csv', 'crossover dgx-h100 --kernels vllm --graph --over-ranks 2,8 -b 4K -e 4M',
      'run dgx-h100 --kernels vllm -b 64K --format json', 'run --alpha 1us --bandwidth 50GB/s -n 8 -a ring,tree --format json',
      'estimate --alpha 1us --bandwidth 50GB/s --ranks 64 -a ring,tree -b 8 -e 1G --format csv',
      'run dgx-h100-x64 -b 1G --format json', 'run dgx-h100-x2048 -b 64M --format json', 'run no-such-machine', 'run hgx-h200 -b 1Q',
      'run hgx-h200 --bandwith 3', 'frobnicate', 'run hgx-h200 --fault nonsense', 'estimate hgx-h200 -a rng', 'run',
      'run hgx-h200 -b 1e3', 'run hgx-h200 -b .5M', 'run hgx-h200 -b 1.M', 'run --alpha 1e-6s --bandwidth 5e10B/s -n 4 -a ring',
      'run --alpha 1us --bandwidth infGB/s -n 4 -a ring', 'run --alpha nan --bandwidth 1GB/s -n 4', 'run --alpha 1e999us --bandwidth 1GB/s -n 4',
    ].map((line) => ({ args: line.split(' ').filter(Boolean), files: [] })),
  ];
}

function questionsOfAll() {
  const all = [...studyQuestions(), ...callQuestions(240).map((args) => ({ args, files: [] }))];
  return count === undefined ? all : all.filter((_, i) => i % Math.max(1, Math.floor(all.length / Number(count))) === 0);
}

/** What the command prints and writes in a folder of its own. */
function askCommand({ args, files }) {
  const place = mkdtempSync(path.join(os.tmpdir(), 'collsim-compare-'));
  for (const each of files) writeFileSync(path.join(place, each.name), readFileSync(each.from));
  const began = performance.now();
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: place, encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'pipe'] });
  const seconds = (performance.now() - began) / 1000;
  const names = new Set(files.map(({ name }) => name));
  const written = readdirSync(place).filter((name) => !names.has(name)).sort().map((name) => [name, readFileSync(path.join(place, name))]);
  rmSync(place, { recursive: true });
  return { code: status, out: stdout, err: stderr, written, seconds };
}

function firstDifference(left, right) {
  const lines = left.split('\n');
  const others = right.split('\n');
  const at = lines.findIndex((line, i) => line !== others[i]);
  let column = 0;
  while (lines[at]?.[column] === others[at]?.[column] && column < 1e6) ++column;
  const near = (line) => line?.slice(Math.max(0, column - 40), column + 60);
  return `line ${at + 1}: ${JSON.stringify(near(lines[at]))} against ${JSON.stringify(near(others[at]))}`;
}

/** Parts of answers that cannot be the same, by what they match. */
const never = [
  // The age of a dump is counted from the time at which the question is asked.
  /(?<="waited_s": )[\d.]+/g,
  // SimGrid is no part of the engine for browsers, so that its list of engines has two of three.
  /(?<="engines": \[[^\]]*)\s*"simgrid",/g,
];
const without = (text) => never.reduce((rest, part) => rest.replace(part, ''), text);

function differenceOf(native, web) {
  if (native.code !== web.code) return `exit code ${native.code} against ${web.code}: ${web.err.slice(0, 300)}`;
  if (without(native.out) !== without(web.out)) return `output, ${firstDifference(without(native.out), without(web.out))}`;
  if (native.err !== web.err) return `messages, ${firstDifference(native.err, web.err)}`;
  const files = (written) => written.map(([name, bytes]) => `${name}: ${Buffer.from(bytes).toString('latin1')}`).join('\n');
  if (files(native.written) !== files([...web.written].sort())) return `files, ${firstDifference(files(native.written), files(web.written))}`;
  return undefined;
}

const open = await engineOf(folder);
const began = performance.now();
let { ask } = await open();
console.log(`an engine opens in ${((performance.now() - began) / 1000).toFixed(2)} s`);
const ratios = [];
let different = 0;
let memory = 0;
const codes = {};
const questions = questionsOfAll();
for (const { args, files } of questions) {
  const native = askCommand({ args, files });
  const start = performance.now();
  const web = ask({ args, files: files.map(({ name, from }) => [name, readFileSync(from)]) });
  const seconds = (performance.now() - start) / 1000;
  if (web.broken) ({ ask } = await open());
  memory = Math.max(memory, web.memory);
  codes[native.code] = (codes[native.code] ?? 0) + 1;
  if (native.seconds > 0.2) ratios.push(seconds / native.seconds);
  if (process.env.VERBOSE) console.log(`${native.seconds.toFixed(2)} s, ${seconds.toFixed(2)} s: ${args.join(' ')}`);
  const difference = differenceOf(native, web);
  if (difference === undefined) continue;
  ++different;
  console.log(`DIFFERENT ${args.join(' ')}\n  ${difference}`);
}
ratios.sort((a, b) => a - b);
console.log(`${questions.length} questions (exit codes ${JSON.stringify(codes)}), ${different} answered otherwise; `
  + `time of the longer ones against the command's: ${ratios[Math.floor(ratios.length / 2)]?.toFixed(1)} in the middle, `
  + `${ratios.at(-1)?.toFixed(1)} at most; at most ${(memory / 1e6).toFixed(0)} MB`);
process.exit(different === 0 ? 0 : 1);
