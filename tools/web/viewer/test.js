// Opens pages of `collsim view` in a headless Chromium, and uses them as a person does.
//
//   node test.js COLLSIM FOLDER [WORD IN THE NAMES OF TESTS]
//
// Pages and screenshots are left in the folder.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { openWatched, runTests } from '../browser-tests.mjs';

const [collsim, folder, only] = process.argv.slice(2);
const tolerance = 0.006; // of a time that is printed with two decimals

function makePage(name, args) {
  const file = path.join(folder, `${name}.html`);
  const out = execFileSync(collsim, ['view', ...args, '--output', file], { encoding: 'utf8' });
  const times = [...out.matchAll(/slices, ([\d.]+) us/g)].map((match) => Number(match[1]));
  return { file, times };
}

async function open(browser, file, hash = '', viewport = { width: 1280, height: 720 }, colorScheme = 'light') {
  const began = Date.now();
  const { page, problems } = await openWatched(browser, pathToFileURL(file).href + hash, (asked) => /^(file|data):/.test(asked), { viewport, colorScheme });
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

/** Where the ranks stand in the nth call's picture: [rank, x, y], and its arrows "from-to". */
const logic = (page, nth = 0) =>
  page.evaluate((n) => {
    const svg = document.querySelectorAll('.logic svg')[n];
    return {
      kind: svg.dataset.kind,
      panels: [...svg.querySelectorAll(':scope > g')].map((panel) => ({
        spots: [...panel.querySelectorAll('.rank circle')].map((dot) => [
          Number(dot.parentNode.dataset.rank), Number(dot.getAttribute('cx')), Number(dot.getAttribute('cy'))]),
        edges: [...panel.querySelectorAll('.arrow')].map((arrow) => arrow.dataset.edge),
      })),
    };
  }, nth);

/** Pairs of words that lie over each other, words outside the picture, and rank numbers that something is drawn over. */
const unreadable = (page) =>
  page.evaluate(() => {
    const problems = [];
    for (const svg of document.querySelectorAll('.logic svg')) {
      const frame = svg.getBoundingClientRect();
      const words = [...svg.querySelectorAll('text')].map((node) => ({ node, box: node.getBoundingClientRect() }));
      words.forEach(({ node, box }, i) => {
        if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1) {
          problems.push(`outside: ${node.textContent}`);
        }
        for (const other of words.slice(i + 1)) {
          const apart = box.right <= other.box.left || other.box.right <= box.left || box.bottom <= other.box.top || other.box.bottom <= box.top;
          if (!apart) problems.push(`${node.textContent} over ${other.node.textContent}`);
        }
      });
      svg.scrollIntoView({ block: 'center' });
      for (const rank of svg.querySelectorAll('.rank')) {
        const dot = rank.querySelector('circle');
        if (!dot) continue;
        const box = dot.getBoundingClientRect();
        const top = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
        if (!rank.contains(top)) problems.push(`rank ${rank.dataset.rank} is covered by ${top?.tagName}`);
      }
    }
    return problems;
  });

/** The arrows of a schedule as `collsim steps` lists them. */
function arrowsOf(args) {
  const [lesson] = JSON.parse(execFileSync(collsim, ['steps', ...args, '--format', 'json'], { encoding: 'utf8' }));
  return new Set(lesson.steps.flatMap((step) => step.messages.map(({ from, to }) => `${from}-${to}`)));
}

const tests = {
  async a_ring_is_a_ring(browser) {
    const { file } = makePage('logic-ring', ['--alpha', '1us', '--bandwidth', '50GB/s', '-n', '16', '-a', 'ring', '-b', '64K']);
    const { page, problems } = await open(browser, file, '#t=8');
    await settled(page);
    const { kind, panels } = await logic(page);
    assert.equal(kind, 'ring');
    const [{ spots, edges }] = panels;
    assert.deepEqual(spots.map(([rank]) => rank), Array.from({ length: 16 }, (_, rank) => rank));
    const middle = [1, 2].map((axis) => spots.reduce((sum, spot) => sum + spot[axis], 0) / 16);
    const angles = spots.map(([, x, y]) => Math.atan2(y - middle[1], x - middle[0]));
    const radii = spots.map(([, x, y]) => Math.hypot(x - middle[0], y - middle[1]));
    radii.forEach((radius) => assert.ok(Math.abs(radius - radii[0]) < 0.5, `${radii}`));
    angles.forEach((angle, i) => {
      const turn = (angles[(i + 1) % 16] - angle + 4 * Math.PI) % (2 * Math.PI);
      assert.ok(Math.abs(turn - (2 * Math.PI) / 16) < 0.01, `rank ${i} turns by ${turn}`);
    });
    assert.deepEqual(edges.sort(), Array.from({ length: 16 }, (_, rank) => `${rank}-${(rank + 1) % 16}`).sort());
    assert.match(await text(page, '.step'), /^steps? \d+( to \d+)? of 30, reduce-scatter/);
    await page.screenshot({ path: path.join(folder, 'logic-ring.png') });
    assert.deepEqual(problems, []);
  },

  async a_ring_lights_up_all_its_arrows_in_its_third_step(browser) {
    // 8 ranks, 64 KiB at 50 GB/s: a step takes 1 us and 8 KiB / 50 GB/s = 0.164 us. The third lies between 2.33 and
    // 3.49 us; its bytes flow at its beginning or its end, so that 64 slices of time are looked at.
    const { file } = makePage('logic-steps', ['--alpha', '1us', '--bandwidth', '50GB/s', '-n', '8', '-a', 'ring', '-b', '64K']);
    const { page, problems } = await open(browser, file);
    const words = new Set();
    let lit = 0;
    for (let i = 0; i < 64; ++i) {
      await page.locator('#time').fill(String(2.34 + (i * 1.1) / 64));
      await settled(page);
      words.add(await text(page, '.step'));
      lit = Math.max(lit, await page.locator('.arrow.adds').count());
    }
    assert.deepEqual([...words], ['step 3 of 14, reduce-scatter']);
    assert.equal(lit, 8);
    assert.deepEqual(problems, []);
  },

  async trees_have_the_edges_of_their_plan(browser) {
    for (const [name, ranks, trees] of [['tree', 16, 1], ['double_binary_tree', 16, 2], ['tree', 7, 1], ['double_binary_tree', 7, 2]]) {
      const { file } = makePage(`logic-${name}-${ranks}`, ['--alpha', '1us', '--bandwidth', '50GB/s', '-n', String(ranks), '-a', name, '-b', '64K']);
      const { page, problems } = await open(browser, file, '#t=3');
      await settled(page);
      const { kind, panels } = await logic(page);
      assert.equal(kind, 'tree');
      assert.equal(panels.length, trees);
      for (const panel of panels) {
        assert.equal(panel.spots.length, ranks);
        assert.equal(panel.edges.length, 2 * (ranks - 1)); // up and down
      }
      const planned = arrowsOf(['-a', name, '-n', String(ranks)]);
      assert.deepEqual(new Set(panels.flatMap((panel) => panel.edges)), planned);
      await page.screenshot({ path: path.join(folder, `logic-${name}-${ranks}.png`) });
      assert.deepEqual(problems, []);
      await page.close();
    }
  },

  async every_label_is_readable(browser) {
    const pages = [
      ['ring', []], ['tree', []], ['double_binary_tree', []], ['recursive_halving_doubling', []], ['parameter_server', []],
      ['one_shot', []], ['hierarchical', ['--ranks-per-node', '4']], ['direct', ['-c', 'all_to_all']],
      ['tree', ['-c', 'broadcast']], ['ring', ['-c', 'broadcast']], ['dissemination', ['-c', 'barrier']], ['ring,tree', []],
    ];
    for (const [width, height, ranks] of [[1280, 720, 16], [1280, 720, 8], [390, 844, 8]]) {
      for (const [name, more] of pages) {
        const args = ['--alpha', '1us', '--bandwidth', '50GB/s', '-n', String(ranks), '-a', name, ...more, '-b', '64K'];
        const { file } = makePage('labels', args);
        const { page, problems } = await open(browser, file, '', { width, height }, ranks === 8 ? 'dark' : 'light');
        const whole = await page.evaluate(() => Number(document.getElementById('time').max));
        for (const share of [0, 0.13, 0.4, 0.62, 0.9]) {
          await page.locator('#time').fill(String(share * whole));
          await settled(page);
          assert.deepEqual(await unreadable(page), [], `${args.join(' ')} at ${share}, ${width} x ${height}`);
        }
        const { kind } = await logic(page);
        const called = `${name.replace(',', '-')}${more.join('').replace('-c', '-')}-${ranks}-${width}`;
        await page.screenshot({ path: path.join(folder, `logic-${kind}-${called}.png`), fullPage: width < 800 });
        assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width);
        assert.deepEqual(problems, []);
        await page.close();
      }
    }
  },

  async nccls_plans_are_drawn_by_channel(browser) {
    const { file } = makePage('logic-nvls', ['-t', 'hgx-h200', '-a', 'nvls', '-b', '1M']);
    const { page, problems } = await open(browser, file, '#t=20');
    await settled(page);
    assert.equal((await logic(page)).kind, 'switch');
    assert.equal(await page.locator('.logic [data-agent]').count(), 1);
    assert.deepEqual(await unreadable(page), []);
    await page.screenshot({ path: path.join(folder, 'logic-nvls.png') });
    const ring = makePage('logic-nccl-ring', ['-t', 'dgx-h100-x4', '-a', 'ring', '-b', '1M']);
    const second = await open(browser, ring.file, '#t=40&channel=1');
    await settled(second.page);
    const { kind, panels } = await logic(second.page);
    assert.equal(kind, 'ring');
    // The channel's own order: the ranks as they are met along its messages.
    const order = await second.page.evaluate(() => {
      const { messages } = globalThis.collsim.view.calls[0];
      const next = new Map();
      messages.from.forEach((from, i) => { if (messages.channel[i] === 1) next.set(from, messages.to[i]); });
      const met = [0];
      while (next.get(met[met.length - 1]) !== 0) met.push(next.get(met[met.length - 1]));
      return met;
    });
    assert.deepEqual(panels[0].spots.map(([rank]) => rank), order);
    await second.page.screenshot({ path: path.join(folder, 'logic-nccl-ring.png') });
    assert.deepEqual([...problems, ...second.problems], []);
  },

  async the_wiring_and_the_critical_path_are_a_key_away(browser) {
    const { file } = makePage('logic-keys', ['-t', 'switch-8', '-a', 'ring', '-b', '64K']);
    const { page, problems } = await open(browser, file, '#t=5');
    assert.equal(await page.locator('.logic').count(), 1);
    await page.keyboard.press('w');
    await settled(page);
    assert.equal(await page.locator('.logic').count(), 0);
    assert.equal(await page.locator('.machine').count(), 1);
    await page.keyboard.press('w');
    await page.keyboard.press('p');
    await settled(page);
    // Every step of the ring waits for the one before: 14 messages, each from the rank before.
    const along = await text(page, '.path');
    assert.match(along, /^critical path, 14 messages: /);
    const ranks = along.match(/: (.*)/)[1].split(' > ').map(Number);
    ranks.slice(1).forEach((rank, i) => assert.equal(rank, (ranks[i] + 1) % 8));
    assert.deepEqual(problems, []);
  },

  async a_wrong_schedule_says_so(browser) {
    const file = path.resolve('../../../docs/learn/schedules/exercise-3.yaml');
    const made = makePage('logic-wrong', ['--alpha', '1us', '--bandwidth', '50GB/s', '-n', '4', '-a', file, '-b', '64K']);
    const { page, problems } = await open(browser, made.file, '#t=5');
    await settled(page);
    assert.match(await text(page, '.wrong'), /rank 0 lacks rank 0's contribution to chunk 0: step 2, 2 -> 0, copies over it/);
    assert.match(await text(page, 'h2'), /^exercise-3.yaml Simple/);
    await page.screenshot({ path: path.join(folder, 'logic-wrong.png') });
    assert.deepEqual(problems, []);
  },

  async an_embedded_page_has_the_picture_and_the_clock_alone(browser) {
    const { file } = makePage('logic-embedded', ['-t', 'switch-8', '-a', 'tree', '-b', '64K', '--embed']);
    const { page, problems } = await open(browser, file, '#t=5', { width: 700, height: 420 });
    await settled(page);
    assert.equal(await page.locator('.logic').isVisible(), true);
    assert.equal(await page.locator('#play').isVisible(), true);
    for (const hidden of ['.timeline', '.log', 'footer']) assert.equal(await page.locator(hidden).isVisible(), false);
    assert.ok((await page.evaluate(() => document.documentElement.scrollHeight)) <= 420);
    await page.screenshot({ path: `${folder}/logic-embedded.png` });
    assert.deepEqual(problems, []);
  },

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
    const { page, problems } = await open(browser, file, '#t=3&picture=2');
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
    const { page, problems } = await open(browser, file, '#t=40&picture=2');
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

await runTests(chromium, Object.fromEntries(Object.entries(tests).filter(([name]) => !only || name.includes(only))));
