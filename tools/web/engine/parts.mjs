// What an engine is made of, for the page's builder and for tests in Node.
import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..');

/** Files below a folder of the repository, with it before them. */
function filesBelow(folder) {
  return readdirSync(path.join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.path, entry.name)))
    .sort();
}

const textsOf = (files) => Object.fromEntries(files.map((file) => [file, readFileSync(path.join(root, file), 'utf8')]));

/** What few questions read, and half of the data. */
export const packedRecordings = () => textsOf(filesBelow('recordings').filter((file) => !file.endsWith('.md')));

/** Those that lessons show, and ask to be put right, by the names that the files have without their folder. */
export const schedules = () => Object.fromEntries(Object.entries(textsOf(filesBelow('docs/learn/schedules')))
  .map(([file, text]) => [path.basename(file), text]));

/** The other data that the command reads, as cmake/install.cmake installs it: text by path. */
export function packedData() {
  const parts = ['charts/plot.min.js', 'charts/page.js', 'charts/page.css', 'viewer/viewer.html'];
  const files = ['models/data', 'topologies', 'scenarios'].flatMap(filesBelow)
    .filter((file) => !file.startsWith('models/data/fits/') && !file.endsWith('.md'));
  return textsOf([...files, ...parts.map((part) => `tools/web/${part}`)]);
}

/** An engine of what lies in build/web. */
export async function engineOf(folder) {
  const require = createRequire(import.meta.url);
  const createCollsim = require(path.resolve(folder, 'collsim.js'));
  const compiled = await WebAssembly.compile(readFileSync(path.join(folder, 'collsim.wasm')));
  const source = readFileSync(path.join(root, 'tools/web/engine/engine.js'), 'utf8');
  const openEngine = new Function(`${source}\nreturn openEngine;`)();
  return () => openEngine(createCollsim, compiled, { ...packedData(), ...packedRecordings() });
}
