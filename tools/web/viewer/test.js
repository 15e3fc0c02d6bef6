// Opens pages of `collsim view` in a headless Chromium, and uses them as a person does.
//
//   node test.js COLLSIM FOLDER
//
// Pages and screenshots are left in the folder.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { runTests } from '../browser-tests.mjs';

const [collsim, folder] = process.argv.slice(2);
const tolerance = 0.006; // of a time that is printed with two decimals

function makePage(name, args) {
  const file = path.join(folder, `${name}.html`);
  const out = execFileSync(collsim, ['view', ...args, '--output', file], { encoding: 'utf8' });
  const times = [...out.matchAll(/slices, ([\d.]+) us/g)].map((match) => Number(match[1]));
  return { file, times };
}

async function open(browser, file, hash = '', viewport = { width: 1280, height: 720 }) {
  const page = await browser.newPage({ viewport });
  const problems = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('request', (request) => {
    if (!request.url().startsWith('file:') && !request.url().startsWith('data:')) problems.push(request.url());
  });
  const began = Date.now();
  await page.goto(pathToFileURL(file).href + hash);
  await page.waitForSelector('#play');
  return { page, problems, seconds: (Date.now() - began) / 1000 };
}

/** Once the page has drawn what was done last. */
const settled = (page) =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(() => requestAnimationFrame(done)))));
const clock = (page) => page.evaluate(() => Number(document.getElementById('time').value));
const text = (page, selector) => page.evaluate((what) => document.querySelector(what).textContent, selector);

/** How many cells of all calls differ in the end from what the collective promises, on every channel. */
const wrongCells = (page) =>
  page.evaluate(() => {
    let wrong = 0;
    let cells = 0;
    for (const play of globalThis.collsim.plays) {
      const { call } = play;
      for (let channel = 0; channel < call.channels; ++channel) {
        const buffers = play.buffersAt(channel, call.time);
        call.after.forEach((chunks, rank) => chunks.forEach((due, chunk) => {
          if (due === 0) return;
          ++cells;
          if (Math.abs(buffers[rank][chunk] - due) > 1e-9) ++wrong;
        }));
      }
    }
    return { wrong, cells };
  });

const tests = {
  async a_ring_and_a_tree_play_on_one_clock(browser) {
    const { file, times } = makePage('ring-and-tree', ['-t', 'switch-8', '-a', 'ring,tree', '-b', '64K']);
    const { page, problems } = await open(browser, file);
    const shown = await page.evaluate(() => globalThis.collsim.view.calls.map((call) => call.time));
    times.forEach((time, i) => assert.ok(Math.abs(time - shown[i]) < tolerance, `${time} ${shown[i]}`));
    const { wrong, cells } = await wrongCells(page);
    assert.equal(wrong, 0);
    assert.ok(cells > 0);
    assert.equal(await page.locator('.call').count(), 2);
    await page.keyboard.press(' ');
    await page.waitForFunction(() => Number(document.getElementById('time').value) > 0.5);
    await page.keyboard.press(' ');
    // A picture that was asked for before may still come.
    await page.waitForFunction(() => document.getElementById('play').textContent === 'Play');
    await page.waitForTimeout(200);
    const stopped = await clock(page);
    await page.waitForTimeout(200);
    assert.equal(await clock(page), stopped);
    await page.screenshot({ path: path.join(folder, 'ring-and-tree.png') });
    assert.deepEqual(problems, []);
  },

  async keys_and_buttons_step(browser) {
    const { file, times } = makePage('ring', ['-t', 'switch-8', '-a', 'ring', '-b', '64K']);
    const { page, problems } = await open(browser, file);
    await page.keyboard.press('ArrowRight');
    await settled(page);
    const first = await clock(page);
    assert.ok(first > 0);
    await page.click('#forward');
    await settled(page);
    assert.ok((await clock(page)) > first);
    await page.keyboard.press('ArrowLeft');
    await settled(page);
    assert.equal(await clock(page), first);
    await page.keyboard.press('End');
    await settled(page);
    assert.ok(Math.abs((await clock(page)) - times[0]) < tolerance);
    assert.match(await text(page, 'h2'), /done/);
    await page.keyboard.press('Home');
    await settled(page);
    assert.equal(await clock(page), 0);
    assert.deepEqual(problems, []);
  },

  async scrubbing_and_the_address_show_the_same(browser) {
    const { file } = makePage('h200', ['-t', 'hgx-h200', '-a', 'ring', '-b', '1M']);
    const { page, problems } = await open(browser, file);
    await page.locator('#time').fill('12');
    await page.selectOption('#channel', '3');
    await page.waitForFunction(() => location.hash.includes('channel=3'));
    await settled(page);
    const hash = await page.evaluate(() => location.hash);
    const log = await text(page, '.log');
    const other = await open(browser, file, hash);
    await settled(other.page);
    assert.ok(Math.abs((await clock(other.page)) - 12) < 1e-3);
    assert.equal(await text(other.page, '.log'), log);
    assert.match(log, /chunk/);
    assert.equal((await wrongCells(page)).wrong, 0);
    assert.deepEqual([...problems, ...other.problems], []);
  },

  async hovering_gives_numbers(browser) {
    const { file } = makePage('hover', ['-t', 'switch-8', '-a', 'ring', '-b', '64K']);
    const { page, problems } = await open(browser, file, '#t=3');
    const box = await page.locator('.timeline').boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await settled(page);
    assert.match(await text(page, '.hint'), /rank \d ch 0: recv_reduce_copy_send chunk|waits for/);
    const buffers = await page.locator('.buffers').boundingBox();
    await page.mouse.move(buffers.x + buffers.width / 2, buffers.y + buffers.height / 2);
    await settled(page);
    assert.match(await text(page, '.hint'), /rank \d, chunk \d on channel 0.*of 8 ranks/);
    const machine = await page.locator('.machine').boundingBox();
    let found = '';
    for (let y = 4; y < machine.height && !/rank \d/.test(found); y += 6) {
      for (let x = 4; x < machine.width && !/rank \d/.test(found); x += 6) {
        await page.mouse.move(machine.x + x, machine.y + y);
        await settled(page);
        found = await page.evaluate(() => document.querySelector('.hint')?.textContent ?? '');
      }
    }
    assert.match(found, /rank \d/);
    assert.deepEqual(problems, []);
  },

  async a_fault_is_seen_beside_the_healthy_call(browser) {
    const { file, times } = makePage('slow', ['-t', 'hgx-h200', '-a', 'ring', '-b', '1M', '--fault',
      'device: node0/gpu3, bandwidth: 10%', '--healthy']);
    assert.ok(times[1] > 2 * times[0]);
    const { page, problems } = await open(browser, file, `#t=${times[0] + 1}`);
    await settled(page);
    assert.match(await text(page, '.call:nth-child(1) h2'), /^healthy.*done/);
    assert.doesNotMatch(await text(page, '.call:nth-child(2) h2'), /done/);
    assert.equal(await page.locator('.call:nth-child(1) .faults').count(), 0);
    assert.match(await text(page, '.call:nth-child(2) .faults'), /device: node0\/gpu3, bandwidth: 10%.*node0\/gpu3 -> /);
    assert.match(await text(page, 'header code'), /--fault 'device: node0\/gpu3, bandwidth: 10%' --healthy/);
    await page.screenshot({ path: path.join(folder, 'slow.png') });
    assert.deepEqual(problems, []);
  },

  async nodes_fold(browser) {
    const { file } = makePage('nodes', ['-t', 'dgx-h100-x4', '-a', 'tree', '-b', '256K']);
    const { page, problems } = await open(browser, file, '#t=40');
    await settled(page);
    const before = await page.locator('.machine').screenshot();
    const box = await page.locator('.machine').boundingBox();
    await page.mouse.click(box.x + 30, box.y + 60);
    await settled(page);
    const after = await page.locator('.machine').screenshot();
    assert.notDeepEqual(before, after);
    assert.equal((await wrongCells(page)).wrong, 0);
    await page.screenshot({ path: path.join(folder, 'nodes.png') });
    assert.deepEqual(problems, []);
  },

  async sixty_four_nodes_open(browser) {
    const { file } = makePage('x64', ['-t', 'dgx-h100-x64', '-a', 'tree', '-b', '64K']);
    const { page, problems, seconds } = await open(browser, file, '#t=60');
    console.log(`  64 nodes x 8: open in ${seconds.toFixed(2)} s`);
    await page.screenshot({ path: path.join(folder, 'x64.png') });
    assert.deepEqual(problems, []);
  },

  async eight_gpus_by_twenty_four_channels_play(browser) {
    const { file } = makePage('h200-4m', ['-t', 'hgx-h200', '-a', 'ring', '-b', '4M']);
    const { page, problems } = await open(browser, file, '#channel=-1');
    await page.click('#play');
    await page.waitForFunction(() => document.getElementById('rate').textContent !== '', null, { timeout: 10000 });
    await page.waitForTimeout(3000);
    console.log(`  8 GPUs x 24 channels: ${await text(page, '#rate')}`);
    await page.screenshot({ path: path.join(folder, 'h200-4m.png') });
    assert.deepEqual(problems, []);
  },

  async a_phone_shows_all_of_it(browser) {
    const { file } = makePage('phone', ['-t', 'switch-8', '-a', 'ring', '-b', '64K']);
    const { page, problems } = await open(browser, file, '#t=5', { width: 390, height: 844 });
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 390, `${width} pixels wide`);
    await page.screenshot({ path: path.join(folder, 'phone.png'), fullPage: true });
    assert.deepEqual(problems, []);
  },
};

await runTests(chromium, tests);
