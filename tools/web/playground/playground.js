'use strict';
// A form that writes a command line, a worker that answers it, and the answer. The command line is the question: it stands
// in the address, and everything else is read from it. Two commands, with a semicolon between them as in a shell, are answered
// side by side.

const $ = (id) => document.getElementById(id);

// Questions: the words that they begin with, which fields they heed, and how their answers can be shown.
const call = ['machine', 'second', 'collective', 'ranks', 'smallest', 'largest', 'algorithm', 'variable', 'format'];
const without = (...left) => call.filter((field) => !left.includes(field));
const rows = ['html', 'table', 'csv', 'json'];
const kinds = {
  'time of a call': { words: ['run'], fields: call, formats: rows },
  'alpha, beta and N': { words: ['crossover'], fields: without('machine', 'second', 'variable'), formats: rows,
    begin: { others: '--alpha 1us --bandwidth 50GB/s', ranks: '8', smallest: '64', largest: '1G',
      algorithm: 'ring,tree,double_binary_tree', format: 'html' } },
  'time by formulas': { words: ['estimate'], fields: call, formats: rows },
  'why it takes its time': { words: ['explain'], fields: without('largest'), formats: ['table', 'json'] },
  'a call, played': { words: ['view'], fields: without('largest', 'format'), formats: [], tail: ['--output', 'view.html'] },
  'what NCCL chooses': { words: ['choose'], fields: without('smallest', 'largest', 'algorithm'), formats: ['table', 'json'] },
  'where algorithms cross': { words: ['crossover'], fields: without('variable'), formats: rows },
  'what settings change': { words: ['advise'], fields: without('ranks', 'algorithm', 'variable'), formats: ['table', 'json'] },
  'steps of an algorithm': { words: ['steps'], fields: ['machine', 'ranks', 'smallest', 'algorithm', 'format'], formats: ['table', 'json', 'markdown'] },
  'a step of training': { words: ['train'], fields: ['machine', 'second', 'nodes', 'model', 'batch', 'tp', 'pp', 'change', 'format'],
    formats: ['html', 'table', 'json'], begin: { machine: 'dgx-h100', model: 'gpt-7.5b', batch: '8', tp: '4', pp: '2', format: 'html' } },
  'plan: layouts of training': { words: ['plan', 'train'], fields: ['machine', 'nodes', 'model', 'batch', 'change', 'format'], formats: rows,
    begin: { machine: 'dgx-h100,dgx-a100', nodes: '1,2', model: 'llama2-7b', batch: '64', format: 'html' } },
  'plan: tokens decoded': { words: ['plan', 'serve'], fields: ['machine', 'model', 'tp', 'change', 'format'], formats: rows,
    begin: { machine: 'dgx-h100,dgx-b200', model: 'llama3-70b', tp: '2,4,8', format: 'html' } },
  'plan: exchange of experts': { words: ['plan', 'moe'], fields: ['machine', 'nodes', 'change', 'format'], formats: rows,
    begin: { machine: 'dgx-h100,dgx-b200', others: '--ep 4,8', format: 'html' } },
  'plan: what a step moves': { words: ['plan'], fields: ['machine', 'nodes', 'smallest', 'change', 'format'], formats: rows,
    begin: { machine: 'dgx-h100,dgx-a100', nodes: '1..8', smallest: '35GB', format: 'html' } },
  'a machine': { words: ['topo', 'show'], fields: ['machine', 'second'], formats: [] },
  'a command of mine': { words: [], fields: [], formats: [] },
};
const options = { collective: '-c', ranks: '-n', smallest: '-b', largest: '-e', algorithm: '-a', variable: '--env', format: '--format',
  nodes: '--nodes', model: '--model', batch: '--global-batch', tp: '--tp', pp: '--pp', change: '--set' };
const longNames = { '--collective': '-c', '--ranks': '-n', '--minbytes': '-b', '--bytes': '-b', '--maxbytes': '-e', '--algorithm': '-a' };
const formatNames = { html: 'page with charts', table: 'table', csv: 'CSV', json: 'JSON', markdown: 'Markdown' };
// What a file that is dropped may be for: the first command that takes it answers.
const uses = [['diagnose', 'FILES', '--format', 'html'], ['check', '--algorithm', 'FILES', '--ranks', '2..9'], ['hang', 'FILES'],
  ['replay', 'FILES'], ['topo', 'show', 'FILES'], ['check', 'FILES']];
const mine = 'mine.yaml'; // what the editor writes
const largestMemory = 1e9; // bytes, of an engine that is kept

/** The commands of a line, each by its words, as a shell takes them apart. */
function commandsOf(line) {
  const commands = [[]];
  for (const [word] of line.matchAll(/;|(?:"[^"]*"|'[^']*'|[^\s"';])+/g)) {
    if (word === ';') commands.push([]);
    else commands.at(-1).push(word.replace(/"([^"]*)"|'([^']*)'/g, (_, double, single) => double ?? single));
  }
  return commands.map((words) => (words[0] === 'collsim' ? words.slice(1) : words)).filter((words) => words.length > 0);
}

const wordsOf = (line) => commandsOf(line).flat();
const lineOf = (words) => words.map((word) => (/^[\w@%+=:,./*-]+$/.test(word) ? word : `'${word}'`)).join(' ');

// The engine: compiled once, opened in a worker, opened again where one was cancelled or has grown.

/** What an element of the page has. Decoded here, since fetch() of a data: address takes ten times as long. */
function unpacked(id, type = 'application/json') {
  const packed = atob($(id).textContent);
  const bytes = new Uint8Array(packed.length);
  for (let i = 0; i < packed.length; ++i) bytes[i] = packed.charCodeAt(i);
  const body = new Response(bytes).body.pipeThrough(new DecompressionStream('gzip'));
  return new Response(body, { headers: { 'Content-Type': type } });
}

const parts = (async () => {
  const [compiled, files] = await Promise.all([
    WebAssembly.compileStreaming(unpacked('engine', 'application/wasm')),
    unpacked('data').json(),
  ]);
  $('engine').remove();
  $('data').remove();
  return { compiled, files };
})();
// They come last in the page, so that the first question need not wait for them.
const whole = new Promise((resolve) => { addEventListener('DOMContentLoaded', resolve); });
let recordings;
const takeRecordings = () => (recordings ??= whole.then(() => unpacked('recordings').json()));

function openEngine() {
  const worker = firstWorker ?? new Worker(workerAddress);
  firstWorker = undefined;
  const engine = {};
  engine.ready = new Promise((resolve, reject) => {
    worker.onerror = (event) => { event.preventDefault(); reject(new Error(event.message)); engine.waiting?.reject(new Error(event.message)); };
    worker.onmessage = ({ data }) => {
      if (engine.ended) return;
      if (data.ready) resolve();
      else if (data.progress !== undefined) showProgress(data.progress);
      else engine.waiting.resolve(data.answer);
    };
  });
  parts.then((open) => worker.postMessage({ open }), (error) => { $('messages').textContent = `The engine cannot be opened: ${error.message}`; });
  const askOnce = (question) => new Promise((resolve, reject) => {
    if (engine.ended) reject(cancelled);
    engine.waiting = { resolve, reject };
    worker.postMessage({ question });
  });
  const askWhole = async (question) => {
    await engine.ready;
    const answer = await askOnce(question);
    if (!answer.missed || engine.whole) return answer;
    worker.postMessage({ more: await takeRecordings() });
    engine.whole = true;
    return askOnce(question);
  };
  let last = Promise.resolve();
  engine.ask = (question) => {
    const answer = last.then(() => askWhole(question)); // one question after the other
    last = answer.catch(() => {});
    return answer;
  };
  engine.end = () => {
    engine.ended = true;
    worker.terminate();
    engine.waiting?.reject(cancelled);
  };
  return engine;
}

const cancelled = new Error('cancelled');
let engine = openEngine();
const files = new Map(); // bytes by name

async function answerTo(args) {
  const used = engine;
  const answer = await used.ask({ args, files: [...files].filter(([name]) => args.some((word) => word.split(',').includes(name))) });
  if (answer.broken || answer.memory > largestMemory) renewEngine();
  return answer;
}

function renewEngine() {
  engine.end();
  engine = openEngine();
}

// The form.

function fieldsShown() {
  const { fields, formats } = kinds[$('kind').value];
  for (const label of document.querySelectorAll('[data-of]')) label.hidden = !fields.includes(label.dataset.of);
  const chosen = $('format').value;
  $('format').replaceChildren(...formats.map((format) => new Option(formatNames[format], format)));
  if (formats.includes(chosen)) $('format').value = chosen;
}

function lineOfForm() {
  const { words, fields, tail = [] } = kinds[$('kind').value];
  if (words.length === 0) return $('command').value;
  const given = (field) => (fields.includes(field) ? $(field).value.trim() : '');
  const lineFor = (machine) => {
    const args = machine === '' ? [...words] : [...words, machine];
    for (const field of fields) {
      const value = given(field);
      if (value === '' || field === 'machine' || field === 'second') continue;
      if (field === 'variable') for (const each of wordsOf(value)) args.push('--env', each);
      else if (field === 'collective' && value === 'all_reduce') continue;
      else if (field !== 'format' || value !== 'table') args.push(options[field], value);
    }
    return ['collsim', lineOf(args), $('others').value.trim(), ...tail].filter(Boolean).join(' ');
  };
  const machines = [given('machine'), given('second')];
  return (machines[1] === '' ? machines.slice(0, 1) : machines).map(lineFor).join('; ');
}

/** The machine that a second command names in place of the first one's, if that is all in which they differ. */
function secondMachine([first, second, ...more], machine) {
  if (second === undefined || more.length > 0 || first.length !== second.length) return undefined;
  const others = first.flatMap((word, i) => (word === second[i] ? [] : [i]));
  return others.length === 1 && first[others[0]] === machine ? second[others[0]] : undefined;
}

/** Fills the form from commands; what it has no field for stands under other options. */
function showInForm(commands) {
  const [args = []] = commands;
  const name = Object.keys(kinds).find((each) => kinds[each].words.length > 0 && kinds[each].words.every((word, i) => args[i] === word)
    && (!kinds[each].begin?.others?.startsWith('--alpha') || args.includes('--alpha')));
  $('kind').value = name ?? 'a command of mine';
  fieldsShown();
  if (name === undefined) return;
  const { words, fields, tail = [] } = kinds[name];
  for (const field of [...Object.keys(options), 'machine', 'second', 'others']) if (field !== 'format') $(field).value = '';
  chooseCollective('all_reduce');
  if (fields.includes('format')) $('format').value = 'table';
  const rest = [];
  const variables = [];
  const filled = new Set();
  const given = tail.length > 0 && args.slice(-tail.length).join(' ') === tail.join(' ') ? args.slice(words.length, -tail.length) : args.slice(words.length);
  for (let i = 0; i < given.length; ++i) {
    const option = longNames[given[i]] ?? given[i];
    const field = Object.keys(options).find((each) => options[each] === option && fields.includes(each) && !filled.has(each));
    if (field === 'variable') variables.push(given[++i] ?? '');
    else if (field !== undefined) {
      filled.add(field);
      if (field === 'collective') chooseCollective(given[++i] ?? '');
      else $(field).value = given[++i] ?? '';
    } else if (i === 0 && !given[i].startsWith('-')) $('machine').value = given[i];
    else if ((option === '-t' || option === '--topology') && fields.includes('machine')) $('machine').value = given[++i] ?? '';
    else rest.push(given[i]);
  }
  $('variable').value = lineOf(variables);
  $('others').value = lineOf(rest);
  if (commands.length === 1) return;
  const second = fields.includes('second') ? secondMachine(commands, $('machine').value) : undefined;
  if (second === undefined) $('kind').value = 'a command of mine';
  else $('second').value = second;
  fieldsShown();
}

/** A question's address is its line, and the schedule that the editor has, where the line names it. */
function showLine(line) {
  $('command').value = line;
  const words = wordsOf(line).flatMap((word) => word.split(','));
  const text = words.includes(mine) ? `\n${$('schedule').value}` : '';
  $('link').href = `#${encodeURIComponent(line.replace(/^collsim +/, '') + text)}`;
  showSliders(wordsOf(line));
}

// Sliders of a textbook's machine, for a line that has such numbers. Each step is a question; while one is answered, the last
// step waits.

const sliders = { '--alpha': { unit: 'us', from: 0.01, to: 1000 }, '--bandwidth': { unit: 'GB/s', from: 0.1, to: 10000 },
  '-n': { unit: '', from: 2, to: 1024 }, '--ranks-per-node': { unit: '', from: 1, to: 64 } };

function showSliders(words) {
  const textbook = words.includes('--alpha') && words.includes('--bandwidth');
  for (const [option, slider] of Object.entries(sliders)) {
    const word = words[words.indexOf(option) + 1];
    const number = textbook && words.includes(option) && word?.endsWith(slider.unit) ? Number(word.slice(0, word.length - slider.unit.length)) : NaN;
    slider.label.hidden = Number.isNaN(number);
    slider.output.textContent = word;
    if (document.activeElement !== slider.input) slider.input.value = Math.log(number / slider.from) / Math.log(slider.to / slider.from);
  }
}

let sliding = false;
let stepWaits = false;

async function slide(option) {
  const { unit, from, to, input } = sliders[option];
  const value = from * (to / from) ** input.value;
  const words = wordsOf($('command').value);
  words[words.indexOf(option) + 1] = `${unit === '' ? Math.round(value) : Number(value.toPrecision(3))}${unit}`;
  showInForm([words]);
  showLine(`collsim ${lineOf(words)}`);
  stepWaits = true;
  if (sliding) return;
  for (sliding = true; stepWaits;) {
    stepWaits = false;
    await ask();
  }
  sliding = false;
  showAddress();
}

for (const [option, slider] of Object.entries(sliders)) {
  slider.label = document.createElement('label');
  slider.output = document.createElement('output');
  slider.input = Object.assign(document.createElement('input'), { type: 'range', min: 0, max: 1, step: 0.005, oninput: () => slide(option) });
  const name = { '-n': 'ranks' }[option] ?? option.slice(2).replaceAll('-', ' ');
  slider.input.setAttribute('aria-label', name); // a label names the first of what it holds
  slider.label.append(`${name} `, slider.output, slider.input);
  $('sliders').append(slider.label);
}

function showFiles() {
  $('files').replaceChildren(...[...files].map(([name, bytes]) => {
    const item = document.createElement('li');
    const remove = document.createElement('button');
    remove.type = 'button';
    remove.textContent = '×';
    remove.setAttribute('aria-label', `remove ${name}`);
    remove.onclick = () => { files.delete(name); showFiles(); };
    item.append(`${name}, ${bytes.length.toLocaleString('en')} bytes`, remove);
    return item;
  }));
  const machines = [...files.keys()].map((name) => new Option(name));
  $('machines').replaceChildren(...machines, ...shippedMachines.map((name) => new Option(name)));
}

// Answers.

const isPage = (text) => /^<!doctype html/i.test(text);

/** So many places for answers, side by side where there is room. */
function openPanes(count) {
  const panes = [...$('answer').children]; // which stay where they are: a frame that is moved loads its page again
  for (const pane of panes.splice(count)) pane.remove();
  while (panes.length < count) {
    const pane = panes[0].cloneNode(true);
    for (const each of pane.querySelectorAll('[id]')) each.removeAttribute('id');
    pane.querySelector('iframe').removeAttribute('src');
    $('answer').append(pane);
    panes.push(pane);
  }
  return panes;
}

let showing = Promise.resolve();
const longestDrawing = 3000; // ms, after which a page is shown as it is

// What a page with charts has besides in this one: it takes what stands in another such page, which costs less than to load that
// one, and charts of pages beside it. It says what its charts are.
const listening = `<script>
onmessage = ({ data: { page, top, beside }, ports: [answer] }) => {
  if (page) {
    const { title, body } = new DOMParser().parseFromString(page, 'text/html');
    document.title = title;
    document.body.replaceChildren(...body.childNodes); // scripts in it do not run
    drawCharts();
  }
  if (top) scrollTo(0, 0);
  if (beside) {
    descriptions.forEach((chart, i) => { chart.beside = beside.flatMap((charts) => charts[i] ?? []); });
    for (const draw of draws) draw();
  }
  answer.postMessage(descriptions);
};
</script>`;

const tell = (frame, message) => new Promise((resolve) => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = ({ data }) => { port1.close(); resolve(data); };
  setTimeout(resolve, longestDrawing); // a frame whose page has not come yet
  frame.contentWindow.postMessage(message, '*', [port2]);
});

/** Gives the charts of pages side by side the same axes. */
async function shareAxes(panes) {
  const frames = panes.map((pane) => pane.querySelector('iframe')).filter(({ listens }) => listens);
  const charts = await Promise.all(frames.map((frame) => tell(frame, {})));
  await Promise.all(frames.map((frame, i) => tell(frame, { beside: charts.filter((each, other) => each && other !== i) })));
}

/** Shows a page in the place of the last one once it is drawn, so that nothing flashes. */
async function drawPage(pane, page) {
  const last = pane.querySelector('iframe');
  const charts = page?.indexOf('<script id="page-charts"');
  const listens = charts > 0;
  if (listens && last.listens && await tell(last, { page: page.slice(0, page.indexOf('</script>', charts)), top: !sliding })) return;
  const next = last.cloneNode();
  next.listens = listens;
  next.hidden = page === undefined;
  // Not srcdoc: the player writes into its address what it shows, which a page from disk refuses there.
  next.src = page === undefined ? 'about:blank' : URL.createObjectURL(new Blob([page, listens ? listening : ''], { type: 'text/html' }));
  next.removeAttribute('id');
  next.classList.add('coming');
  const drawn = new Promise((resolve) => {
    next.onload = resolve;
    setTimeout(resolve, longestDrawing);
  });
  last.after(next);
  await drawn;
  URL.revokeObjectURL(last.src);
  last.remove();
  next.id = last.id;
  next.classList.remove('coming');
}

function showAnswer(pane, { code, out, err, written }, title) {
  const part = (name) => pane.querySelector(`.${name}`);
  const pages = written.filter(([name]) => name.endsWith('.html')).map(([, bytes]) => new TextDecoder().decode(bytes));
  const page = isPage(out) ? out : pages.find(isPage);
  const isAnswer = code === 0 || code === 1;
  const text = (isPage(out) ? '' : out) + (isAnswer ? err : '');
  part('title').textContent = title;
  part('messages').textContent = isAnswer ? '' : err;
  part('text').hidden = text === '';
  part('text').textContent = text;
  const saved = [...written];
  if (isPage(out)) saved.push(['answer.html', out]);
  part('written').replaceChildren(...saved.map(([name, content]) => {
    const link = document.createElement('a');
    link.href = '#';
    link.onclick = () => { link.href = URL.createObjectURL(new Blob([content])); }; // which takes its time, and memory
    link.download = name;
    link.textContent = `Save ${name}`;
    return link;
  }));
  showing = showing.then(() => drawPage(pane, page));
  return showing;
}

let questions = 0;
let seconds = ''; // since the question was asked
let said = ''; // of how far it is

const showComputing = () => { $('status').textContent = ['computing…', seconds, said].filter(Boolean).join(' '); };

/** What a command says of how far it is: "1 GiB [####....] 45 %, 3 s left". */
function showProgress(text) {
  const share = text.match(/(\d+) %/)?.[1];
  said = text.replace(/ *\[.*\]/, ',');
  $('progress').hidden = text === '';
  if (share === undefined) $('progress').removeAttribute('value');
  else $('progress').value = share;
  if (text !== '') showComputing();
}

/** Runs `work`, which is given whether its question is still the last one, and returns exit codes. */
async function asking(work) {
  const number = ++questions;
  if (!$('cancel').disabled) renewEngine(); // the last question is still being answered
  $('cancel').disabled = false;
  seconds = said = '';
  showComputing();
  const began = performance.now();
  const ticking = setInterval(() => {
    seconds = `${((performance.now() - began) / 1000).toFixed(0)} s`;
    showComputing();
  }, 1000);
  try {
    const codes = await work(() => number === questions);
    if (number !== questions) return;
    $('status').textContent = `answered in ${((performance.now() - began) / 1000).toFixed(2)} s, exit code ${codes.join(' and ')}`;
  } catch (error) {
    if (number !== questions) return;
    $('messages').textContent = `The engine ended: ${error.message}`;
    renewEngine();
  } finally {
    clearInterval(ticking);
    if (number === questions) {
      $('cancel').disabled = true;
      showProgress('');
    }
  }
}

/** Asks one command after the other, and shows their answers side by side. */
const askAll = (commands) => asking(async (isLast) => {
  const panes = openPanes(commands.length);
  const codes = [];
  for (const [i, args] of commands.entries()) {
    const answer = await answerTo(args);
    if (!isLast()) return codes;
    await showAnswer(panes[i], answer, commands.length > 1 ? `collsim ${lineOf(args)}` : '');
    codes.push(answer.code);
  }
  if (panes.length > 1) await shareAxes(panes);
  return codes;
});

/** Asks in turn, until a command takes the files that it is given. */
const askAny = (candidates) => asking(async (isLast) => {
  let refused;
  for (const args of candidates) {
    const answer = await answerTo(args);
    if (!isLast()) return [];
    refused ??= answer;
    if (answer.code === 2) continue;
    showInForm([args]);
    showLine(`collsim ${lineOf(args)}`);
    await showAnswer(openPanes(1)[0], answer, '');
    return [answer.code];
  }
  await showAnswer(openPanes(1)[0], refused, '');
  return [refused.code];
});

const showAddress = () => history.replaceState(null, '', $('link').href);

function ask() {
  if (!sliding) showAddress(); // browsers refuse too many changes
  const commands = commandsOf($('command').value);
  return askAll(commands.length > 0 ? commands : [['--help']]);
}

function cancel() {
  if ($('cancel').disabled) return;
  ++questions;
  renewEngine();
  $('cancel').disabled = true;
  showProgress('');
  $('status').textContent = 'cancelled';
}

async function take(list) {
  const taken = [];
  for (const file of list) {
    files.set(file.name, new Uint8Array(await file.arrayBuffer()));
    taken.push(file.name);
  }
  showFiles();
  if (taken.length > 0) await askAny(uses.map((words) => words.flatMap((word) => (word === 'FILES' ? taken : [word]))));
}

const firstQuestion = 'run hgx-h200 -b 64K -e 1G -f 8 -a ring,tree --format html';
let shippedMachines = [];

/** Chooses a collective, also before the list of them is there. */
function chooseCollective(name) {
  if (![...$('collective').options].some((option) => option.value === name)) $('collective').append(new Option(name));
  $('collective').value = name;
}

/** What the fields offer is what `collsim list` says. */
async function fillLists() {
  const listed = (kind) => answerTo(['list', kind, '--format', 'json']).then(({ out }) => JSON.parse(out)[kind], (error) => {
    if (error !== cancelled) throw error;
    return listed(kind);
  });
  shippedMachines = await listed('topologies');
  const namesOf = async (kind) => [...new Set((await listed(kind)).map((each) => each.name ?? each))].map((name) => new Option(name));
  const collectives = await listed('collectives');
  const chosen = $('collective').value;
  $('collective').replaceChildren(...collectives.map((name) => new Option(name)));
  chooseCollective(chosen);
  $('algorithms').replaceChildren(...await namesOf('algorithms'));
  $('models').replaceChildren(...await namesOf('models'));
  showFiles();
}

async function questionOfAddress() {
  const [line, ...text] = (decodeURIComponent(location.hash.slice(1)) || firstQuestion).split('\n');
  await openSchedule(wordsOf(line), text.join('\n'));
  showInForm(commandsOf(line));
  showLine(`collsim ${line}`);
  return ask();
}

$('kind').replaceChildren(...Object.keys(kinds).map((name) => new Option(name)));
fieldsShown();
$('form').addEventListener('input', (event) => {
  if (event.target === $('kind')) {
    fieldsShown();
    const { begin = {} } = kinds[$('kind').value];
    const isBegin = Object.values(kinds).some((each) => each.begin?.others === $('others').value);
    if (isBegin) $('others').value = '';
    for (const [field, value] of Object.entries(begin)) $(field).value = value;
  }
  if (event.target === $('command')) showLine($('command').value);
  else showLine(lineOfForm());
});
$('form').addEventListener('submit', (event) => {
  event.preventDefault();
  showInForm(commandsOf($('command').value));
  ask();
});
$('cancel').onclick = cancel;
$('chosen').onchange = () => take($('chosen').files);
$('licences').onclick = async () =>
  showAnswer(openPanes(1)[0], { code: 0, out: await unpacked('notices').text(), err: '', written: [] }, '');
addEventListener('keydown', (event) => { if (event.key === 'Escape') cancel(); });
addEventListener('hashchange', questionOfAddress);
addEventListener('dragover', (event) => { event.preventDefault(); $('drop').classList.add('over'); });
addEventListener('dragleave', () => $('drop').classList.remove('over'));
addEventListener('drop', (event) => {
  event.preventDefault();
  $('drop').classList.remove('over');
  take(event.dataTransfer.files);
});
