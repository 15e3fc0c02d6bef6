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

/** The data that the command reads, as cmake/install.cmake installs it: text by path. */
export function packedData() {
  const parts = ['charts/plot.min.js', 'charts/page.js', 'charts/page.css', 'viewer/viewer.html', 'sliders/sliders.html'];
  const files = ['models/data', 'topologies', 'scenarios', 'recordings'].flatMap(filesBelow)
    .filter((file) => !file.startsWith('models/data/fits/') && !file.endsWith('.md'));
  return Object.fromEntries([...files, ...parts.map((part) => `tools/web/${part}`)]
    .map((file) => [file, readFileSync(path.join(root, file), 'utf8')]));
}

/** An engine of what lies in build/web. */
export async function engineOf(folder) {
  const require = createRequire(import.meta.url);
  const createCollsim = require(path.resolve(folder, 'collsim.js'));
  const compiled = await WebAssembly.compile(readFileSync(path.join(folder, 'collsim.wasm')));
  const source = readFileSync(path.join(root, 'tools/web/engine/engine.js'), 'utf8');
  const openEngine = new Function(`${source}\nreturn openEngine;`)();
  return () => openEngine(createCollsim, compiled, packedData());
}
