// The notices of packages that a bundle holds: their licences ask that copies carry them.
import fs from 'node:fs';
import path from 'node:path';

// Licences that let their code be part of pages under any licence.
const allowed = new Set(['0BSD', 'BSD-3-Clause', 'ISC', 'MIT', 'Unlicense']);

function noticeOf(name, modules) {
  const folder = path.join(modules, name);
  const { version, license } = JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));
  if (!allowed.has(license)) throw new Error(`${name} ${version} is under ${license}, which is not known here`);
  const file = fs.readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
  const lines = fs.readFileSync(path.join(folder, file), 'utf8').trim().split('\n').map((line) => line.trim());
  const holders = lines.filter((line) => /^copyright/i.test(line));
  const terms = lines.filter((line) => !holders.includes(line)).join(' ').replace(/\s+/g, ' ').trim();
  return { name: `${name} ${version} (${license})`, holders, terms };
}

/** One text for all packages: who holds the rights, then each set of terms once. */
export function noticesOf(names, modules) {
  const byTerms = new Map();
  for (const name of [...names].sort()) {
    const { name: title, holders, terms } = noticeOf(name, modules);
    byTerms.set(terms, [...(byTerms.get(terms) ?? []), `${title}: ${holders.join('; ')}`]);
  }
  return [...byTerms].map(([terms, packages]) => `${packages.join('\n')}\n\n${terms}`).join('\n\n');
}
