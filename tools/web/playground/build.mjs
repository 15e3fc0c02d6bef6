// Puts the engine, its data and the page into one file, FOLDER/playground.html, which opens from disk:
//
//   node build.mjs FOLDER
//
// FOLDER has collsim.js and collsim.wasm. What is large is compressed, and written in base64; a server that compresses
// what it sends takes the third back that this costs.

import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { packedData, packedRecordings, root, schedules } from '../engine/parts.mjs';

const [folder] = process.argv.slice(2);
const read = (name) => readFileSync(path.join(root, 'tools/web', name), 'utf8');
const packed = (content) => gzipSync(content, { level: 9 }).toString('base64');
const inScript = (text) => text.replaceAll('</script', '<\\/script');

/** What the licences of the libraries in the engine ask to be with it. */
const licences = ['libeigen3-dev', 'libfmt-dev', 'nlohmann-json3-dev', 'libprotozero-dev', 'libpugixml-dev', 'libyaml-cpp-dev',
  'zlib1g-dev', 'emscripten'].map((name) => `/usr/share/doc/${name}/copyright`);
const notices = [path.join(root, 'NOTICE'), path.join(root, 'build/web-sources/boost1.74/LICENSE_1_0.txt'), ...licences]
  .map((file) => `${file.split('/').at(-2)}\n\n${readFileSync(file, 'utf8')}`).join('\n\n');

const parts = {
  WORKER: inScript([readFileSync(path.join(folder, 'collsim.js'), 'utf8'), read('engine/engine.js'), read('playground/worker.js')].join('\n')),
  ENGINE: packed(readFileSync(path.join(folder, 'collsim.wasm'))),
  DATA: packed(JSON.stringify(packedData())),
  RECORDINGS: packed(JSON.stringify(packedRecordings())),
  SCHEDULES: packed(JSON.stringify(schedules())),
  NOTICES: packed(notices),
  PLAYGROUND: inScript(read('playground/playground.js')),
  EDITOR: inScript(read('playground/editor.js')),
};
const page = read('playground/index.html').replace(/@([A-Z]+)@/g, (_, name) => parts[name]);
writeFileSync(path.join(folder, 'playground.html'), page);
const megabytes = (bytes) => (bytes / 1e6).toFixed(2);
const first = page.slice(0, page.indexOf('id="recordings"'));
console.log(`playground.html: ${megabytes(page.length)} MB, ${megabytes(gzipSync(page).length)} compressed, of which `
  + `${megabytes(gzipSync(first).length)} come before the first answer; `
  + Object.entries(parts).map(([name, text]) => `${name.toLowerCase()} ${megabytes(text.length)}`).join(', '));
