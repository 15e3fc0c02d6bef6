// Bundles the chart library into plot.min.js, with the notices of all packages that got into it.
import fs from 'node:fs';
import { build } from 'esbuild';
import { noticesOf } from '../notices.mjs';

const { metafile, outputFiles } = await build({
  entryPoints: ['entry.js'],
  bundle: true,
  minify: true,
  format: 'iife',
  globalName: 'charts',
  metafile: true,
  write: false,
  outfile: 'plot.min.js',
});
const names = new Set();
for (const file of Object.keys(metafile.inputs)) {
  const found = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file);
  if (found) names.add(found[1]);
}
const notices = noticesOf(names, 'node_modules').replaceAll('*/', '* /');
fs.writeFileSync('plot.min.js', `/*! This file holds:\n\n${notices}\n*/\n${outputFiles[0].text}`);
