// Opens the page of `collsim crossover --html` in a headless Chromium, and compares its closed forms with `collsim estimate`.
//
//   node test.js COLLSIM FOLDER

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { openWatched, runTests } from '../browser-tests.mjs';

const { chromium } = createRequire(new URL('../viewer/package.json', import.meta.url))('playwright-core');
const [collsim, folder] = process.argv.slice(2);
const names = ['ring', 'tree', 'double_binary_tree', 'recursive_halving_doubling', 'hierarchical'];

function makePage(args) {
  const file = path.join(folder, 'sliders.html');
  execFileSync(collsim, ['crossover', ...args, '-a', names.join(), '--html', file], { encoding: 'utf8' });
  return file;
}

const open = (browser, file, look) => openWatched(browser, pathToFileURL(file).href, (asked) => /^(file|data):/.test(asked), look);

const tests = {
  async closed_forms_are_those_of_estimate(browser) {
    const file = makePage(['--alpha', '1us', '--bandwidth', '50GB/s', '-n', '8']);
    assert.ok(fs.statSync(file).size < 300e3);
    const { page, problems } = await open(browser, file);
    let compared = 0;
    for (const [alpha, rate, ranks, perNode] of [[1, 50, 8, 1], [0.5, 200, 16, 4], [3, 12.5, 6, 2], [1, 50, 64, 8], [2, 25, 13, 1], [1, 50, 2, 1]]) {
      const run = names.filter((name) => (name !== 'hierarchical' || perNode > 1)
        && (name !== 'recursive_halving_doubling' || (ranks & (ranks - 1)) === 0));
      const out = execFileSync(collsim, ['estimate', '--alpha', `${alpha}us`, '--bandwidth', `${rate}GB/s`, '-n', `${ranks}`,
        '--ranks-per-node', `${perNode}`, '-a', run.join(), '-b', '6144K', '-e', '384M', '-f', '64', '--format', 'json'], { encoding: 'utf8' });
      for (const row of JSON.parse(out)) {
        const at = { alpha, bandwidth: rate * 1000, ranks, perNode, size: row.size_bytes };
        const name = row.algorithm.split(':')[0];
        if (row.method !== 'closed form') continue;
        const shown = await page.evaluate(([each, where]) => globalThis.collsim.timeOf(each, where), [name, at]);
        assert.ok(Math.abs(shown / row.time_us - 1) < 1e-4, `${name} ${JSON.stringify(at)}: ${shown}, estimated ${row.time_us}`);
        ++compared;
      }
    }
    assert.ok(compared >= 36, `${compared}`);
    assert.deepEqual(problems, []);
  },

  // The same page, of the algorithms that were run.
  async run_writes_it_too(browser) {
    const file = path.join(folder, 'run-sliders.html');
    execFileSync(collsim, ['run', '--alpha', '1us', '--bandwidth', '50GB/s', '-n', '8', '-a', 'ring,tree', '--sliders', file], { encoding: 'utf8' });
    const { page, problems } = await open(browser, file);
    assert.deepEqual(await page.locator('.curve').evaluateAll((all) => all.map((each) => each.dataset.name)), ['ring', 'tree']);
    assert.deepEqual(problems, []);
  },

  async sliders_move_the_curves(browser) {
    const file = makePage(['--alpha', '1us', '--bandwidth', '50GB/s', '-n', '12']);
    const { page, problems } = await open(browser, file);
    const before = await page.locator('.curve[data-name=ring]').getAttribute('points');
    const words = await page.locator('#words').textContent();
    assert.match(words, /Below .* is faster, above/);
    await page.locator('#alpha').evaluate((input) => { input.value = 0.9; input.dispatchEvent(new Event('input')); });
    assert.notEqual(await page.locator('.curve[data-name=ring]').getAttribute('points'), before);
    assert.notEqual(await page.locator('#words').textContent(), words);
    // A circle for each size that the words name.
    const said = await page.locator('#words').textContent();
    assert.equal(await page.locator('.crossing').count(), (said.match(/Below/g) ?? []).length);
    await page.screenshot({ path: path.join(folder, 'sliders.png') });
    assert.deepEqual(problems, []);
  },

  // Prints what a step of a slider costs, layout included: sixty pictures a second leave 16.7 ms for each.
  async every_step_of_a_slider_draws_other_curves(browser) {
    const file = makePage(['--alpha', '1us', '--bandwidth', '50GB/s', '-n', '16']);
    const { page, problems } = await open(browser, file);
    const { taken, drawn } = await page.evaluate(() => {
      const input = document.querySelector('#alpha');
      const [least, most] = [Number(input.min), Number(input.max)];
      const times = [];
      const curves = new Set();
      for (let step = 0; step < 120; ++step) {
        const begin = performance.now();
        input.value = least + (most - least) * (step / 119);
        input.dispatchEvent(new Event('input'));
        document.body.getBoundingClientRect();
        times.push(performance.now() - begin);
        curves.add(document.querySelector('.curve[data-name=ring]').getAttribute('points'));
      }
      return { taken: times.sort((a, b) => a - b), drawn: curves.size };
    });
    console.log(`a step of a slider takes ${taken[60].toFixed(2)} ms, of twenty the slowest ${taken[114].toFixed(2)} ms`);
    // A slider has steps of its own, on which several values fall.
    assert.ok(drawn > 50, `${drawn}`);
    assert.deepEqual(problems, []);
  },

  async a_phone_in_the_dark_shows_all_of_it(browser) {
    const file = makePage(['--alpha', '1us', '--bandwidth', '50GB/s', '-n', '8']);
    const { page, problems } = await open(browser, file, { viewport: { width: 390, height: 844 }, colorScheme: 'dark' });
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
    await page.screenshot({ path: path.join(folder, 'sliders-phone.png'), fullPage: true });
    assert.deepEqual(problems, []);
  },
};

await runTests(chromium, tests);
