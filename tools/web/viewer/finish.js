// Puts the built page where collsim looks for it.
import fs from 'node:fs';

const page = fs.readFileSync('dist/index.html', 'utf8');
if (page.split('@COLLSIM_DATA@').length !== 2) throw new Error('the page has no one place for data');
fs.writeFileSync('viewer.html', page);
