// Puts the built page where collsim looks for it, with the notices of the packages in it.
import fs from 'node:fs';
import { noticesOf } from '../notices.mjs';

const page = fs.readFileSync('dist/index.html', 'utf8');
if (page.split('@COLLSIM_DATA@').length !== 2) throw new Error('the page has no one place for data');
const { dependencies } = JSON.parse(fs.readFileSync('package.json', 'utf8'));
const notices = noticesOf(Object.keys(dependencies), 'node_modules').replaceAll('--', '- -');
fs.writeFileSync('viewer.html', page.replace('<html', () => `<!-- This page holds:\n\n${notices}\n-->\n<html`));
