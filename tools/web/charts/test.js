// Opens report pages in a headless Chromium.
//
//   node test.js COLLSIM FOLDER
//
// Pages and screenshots are left in the folder.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { openWatched, runTests } from '../browser-tests.mjs';

const [collsim, folder] = process.argv.slice(2);
const largest = 400 * 1024; // bytes of a page, before its data
const desk = { width: 1280, height: 720 };
const phone = { width: 390, height: 844 };

/** What a command prints; exit code 1, which says that the answer is no, is one of its answers. */
function output(args) {
  try {
    return execFileSync(collsim, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  } catch (error) {
    if (error.status === 1) return error.stdout;
    throw error;
  }
}

function makePage(name, args) {
  const file = path.join(folder, `${name}.html`);
  writeFileSync(file, output([...args, '--format', 'html']));
  return file;
}

function open(browser, file, look) {
  const address = pathToFileURL(file).href;
  return openWatched(browser, address, (asked) => asked === address, look);
}

/** Of each figure, how many marks its drawing has; axes, grids and the legend do not count. */
const marksOf = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll('figure')].map((figure) => {
      const marks = '[aria-label=line] path, [aria-label=dot] *, [aria-label=cell] rect, [aria-label=bar] rect';
      return figure.querySelectorAll(`.plot svg :is(${marks})`).length;
    }));

/** Rows of a table of the page by keys, with exact numbers. */
const rowsOf = (page, number) =>
  page.evaluate((which) => {
    const table = document.querySelectorAll('table')[which];
    const keys = [...table.querySelectorAll('th')].map((head) => head.dataset.key);
    return [...table.querySelectorAll('tbody tr')].map((row) =>
      Object.fromEntries([...row.children].map((cell, i) => {
        const exact = cell.querySelector('data');
        return [keys[i], exact ? Number(exact.value) : cell.textContent];
      })));
  }, number);

/** Every number of the page's rows is that of the answer's. */
function assertSameNumbers(rows, answers) {
  assert.equal(rows.length, answers.length);
  let numbers = 0;
  rows.forEach((row, i) => {
    for (const [key, value] of Object.entries(row)) {
      if (typeof value !== 'number') continue;
      assert.equal(value, answers[i][key], `row ${i}, ${key}`);
      ++numbers;
    }
  });
  assert.ok(numbers > rows.length);
}

/** Whether the page holds what it must, at this width. */
async function assertWhole(page, args, charts, width) {
  const marks = await marksOf(page);
  assert.equal(marks.length, charts, `${marks.length} charts`);
  assert.ok(marks.every((count) => count > 0), `marks: ${marks}`);
  assert.ok((await page.locator('table').count()) > 0);
  assert.match(await page.textContent('.command'), new RegExp(`^collsim ${args[0]} `));
  assert.match(await page.textContent('dl'), /made by\s*collsim \d/);
  const used = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(used <= width, `${used} of ${width} pixels wide`);
}

/** Opens it on a desk, in the light and in the dark, and on a phone, and looks for what must be there. Returns it. */
async function assertOpens(browser, name, args, charts) {
  const file = makePage(name, args);
  const picture = (look) => ({ path: path.join(folder, `${name}-${look}.png`) });
  const { page, problems } = await open(browser, file);
  await assertWhole(page, args, charts, desk.width);
  const { top, data } = await page.evaluate(() => ({
    top: document.querySelector('.plot').getBoundingClientRect().top,
    data: document.getElementById('page-charts').textContent.length
      + [...document.querySelectorAll('section')].reduce((sum, each) => sum + each.innerHTML.length, 0),
  }));
  assert.ok(top < desk.height / 2, `the first chart begins at ${top}`);
  assert.ok(statSync(file).size - data <= largest);
  await page.screenshot(picture('desk'));
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.screenshot(picture('dark'));
  const small = await open(browser, file, { viewport: phone });
  await assertWhole(small.page, args, charts, phone.width);
  await small.page.screenshot(picture('phone'));
  await small.page.close();
  assert.deepEqual([...problems, ...small.problems], []);
  return page;
}

const recordings = path.resolve('../../../recordings/published');
const hopeless = path.join(recordings, 'h100x2-gpu01-ring-nop2p-allreduce.yaml');

const tests = {
  async step_opens(browser) {
    const args = ['train', 'dgx-h100', '--model', 'gpt-7.5b', '--tp', '4', '--pp', '2', '--global-batch', '8'];
    const page = await assertOpens(browser, 'step', args, 2);
    const streams = await page.textContent('figure:nth-of-type(2) .plot');
    assert.ok(streams.includes('stage 1 compute'), streams);
  },

  async decoding_opens(browser) {
    await assertOpens(browser, 'decode',
      ['serve', 'dgx-h100', '--model', 'llama3-70b', '--tp', '8', '--batch', '32'], 2);
  },

  async plan_by_steps_opens(browser) {
    const args = ['plan', 'train', 'dgx-h100,dgx-a100', '--nodes', '1,2', '--model', 'llama2-7b', '--global-batch', '64'];
    const page = await assertOpens(browser, 'plan-step', args, 2);
    assert.match(await page.textContent('body'), /Cheapest trains llama2-7b on/);
  },

  async run_opens(browser) {
    const page = await assertOpens(browser, 'run', ['run', 'hgx-h200-all-reduce'], 2);
    const answers = JSON.parse(output(['run', 'hgx-h200-all-reduce', '--format', 'json']));
    const half = answers.length / 2; // a table for ring, one for tree
    assertSameNumbers(await rowsOf(page, 0), answers.slice(0, half));
    assertSameNumbers(await rowsOf(page, 1), answers.slice(half));
  },

  async one_size_has_bars(browser) {
    await assertOpens(browser, 'run-one-size', ['run', 'hgx-h200', '-a', 'ring,tree', '-b', '1M', '-e', '1M'], 1);
  },

  async estimate_opens(browser) {
    await assertOpens(browser, 'estimate', ['estimate', '-t', 'switch-64', '-a', 'ring,double_binary_tree'], 2);
  },

  async plan_for_decoding_opens(browser) {
    const args = ['plan', 'serve', 'dgx-h100,dgx-b200', '--model', 'llama3-70b', '--tp', '2,4,8', '--batch', '1,32'];
    await assertOpens(browser, 'plan-decode', args, 2);
  },

  async plan_for_exchanges_opens(browser) {
    await assertOpens(browser, 'plan-exchange', ['plan', 'moe', 'dgx-h100', '--ep', '8,16,32'], 1);
  },

  async crossover_of_kernels_opens(browser) {
    const args = ['crossover', 'dgx-h100', '--kernels', 'vllm', '--graph', '--over-ranks', '2,8', '-b', '4K', '-e', '4M'];
    await assertOpens(browser, 'crossover-kernels', args, 2);
  },

  async crossover_of_textbooks_opens(browser) {
    const args = ['crossover', '--alpha', '1us', '--bandwidth', '50GB/s', '-n', '8', '-a', 'ring,tree,double_binary_tree'];
    const page = await assertOpens(browser, 'crossover-textbook', args, 1);
    assertSameNumbers(await rowsOf(page, 0), JSON.parse(output([...args, '--map', '--format', 'json'])));
    assert.match(await page.textContent('.note'), /Below .* is faster, above ring\./);
  },

  async crossover_opens(browser) {
    const args = ['crossover', '-t', 'hgx-h200', '--over-ranks', '2,4,8', '-b', '1K', '-e', '64M'];
    const page = await assertOpens(browser, 'crossover', args, 2);
    const cells = JSON.parse(output([...args, '--map', '--format', 'json']));
    assertSameNumbers(await rowsOf(page, 0), cells);
    const shown = await page.evaluate(() =>
      document.querySelectorAll('figure:first-of-type .plot svg [aria-label=cell] rect:not([fill^=url])').length);
    assert.ok(shown >= cells.length);
  },

  async sweep_opens(browser) {
    const sweep = ['sweep', 'sweep-hgx-h200-buffers'];
    const page = await assertOpens(browser, 'sweep', sweep, 2);
    const answers = output([...sweep, '--format', 'jsonl']).trim().split('\n').map((line) => JSON.parse(line));
    assertSameNumbers(await rowsOf(page, 0), answers);
    await assertOpens(browser, 'sweep-best', [...sweep, '--best-by', 'size'], 2);
    await assertOpens(browser, 'sweep-pareto', [...sweep, '--pareto', 'size,time'], 1);
  },

  async plan_opens(browser) {
    const args = ['plan', 'dgx-h100,dgx-a100', '--nodes', '1..16', '--bytes', '35GB', '--set', 'nic=200Gb/s'];
    const page = await assertOpens(browser, 'plan', args, 2);
    assertSameNumbers(await rowsOf(page, 0), JSON.parse(output([...args, '--format', 'json'])).rows);
  },

  async faults_open(browser) {
    const args = ['faults', 'dgx-h100-x4', '-b', '256M', '-a', 'ring'];
    const page = await assertOpens(browser, 'faults', args, 1);
    assertSameNumbers(await rowsOf(page, 0), JSON.parse(output([...args, '--format', 'json']))[0].links);
  },

  async diagnose_opens(browser) {
    const page = await assertOpens(browser, 'diagnose', ['diagnose', hopeless], 1);
    assertSameNumbers(await rowsOf(page, 1), JSON.parse(output(['diagnose', hopeless, '--format', 'json'])).logs[0].sizes);
  },

  async validate_opens(browser) {
    await assertOpens(browser, 'validate', ['validate', path.join(recordings, 'a100x8-80gb-mpi-allreduce.yaml')], 1);
  },

  async an_axis_can_be_switched(browser) {
    const { page, problems } = await open(browser, makePage('switched', ['run', 'switch-8', '-b', '1K', '-e', '1M']));
    const ticks = () => page.textContent('figure:first-of-type .plot [aria-label="y-axis tick label"]');
    const before = await ticks();
    await page.click('figure:first-of-type button');
    assert.notEqual(await ticks(), before);
    await page.click('figure:first-of-type button');
    assert.equal(await ticks(), before);
    assert.deepEqual(problems, []);
  },

  async hovering_gives_numbers(browser) {
    const { page, problems } = await open(browser, path.join(folder, 'run.html'));
    const box = await page.locator('figure:first-of-type .plot [aria-label=dot] > *').first().boundingBox();
    await page.mouse.move(box.x + 2, box.y + 2);
    await page.waitForFunction(() =>
      /us, .*GB\/s/.test(document.querySelector('.plot [aria-label=tip]').textContent), null, { timeout: 5000 });
    assert.deepEqual(problems, []);
  },

  async paper_shows_whole_tables(browser) {
    const { page, problems } = await open(browser, path.join(folder, 'run.html'), { colorScheme: 'dark' });
    await page.emulateMedia({ media: 'print' });
    const [inside, outside] = await page.evaluate(() => {
      const table = document.querySelector('.table');
      return [table.scrollHeight, table.clientHeight];
    });
    assert.ok(inside <= outside + 1, `${inside} of ${outside} pixels are shown`);
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)');
    assert.deepEqual(problems, []);
  },

  async a_window_may_change_its_width(browser) {
    const { page, problems } = await open(browser, path.join(folder, 'run.html'));
    await page.setViewportSize(phone);
    await page.waitForFunction((width) => document.documentElement.scrollWidth <= width, phone.width);
    assert.ok((await page.locator('figure:first-of-type .plot svg').boundingBox()).width <= phone.width);
    assert.deepEqual(problems, []);
  },

  // The machine's name ends the elements that hold it, if it can.
  async a_name_of_markup_stays_text(browser) {
    const name = '</script><script>throw 1</script><img src=https://example.org/x>"\'&';
    const machine = path.join(folder, 'markup.yaml');
    const text = readFileSync(path.resolve('../../../topologies/switch-8.yaml'), 'utf8');
    writeFileSync(machine, text.replace(/^name:.*$/m, () => `name: ${JSON.stringify(name)}`));
    const { page, problems } = await open(browser, makePage('markup', ['run', machine, '-b', '1K', '-e', '1M']));
    assert.ok((await page.textContent('h1')).includes(name));
    assert.ok((await marksOf(page)).every((count) => count > 0));
    assert.deepEqual(problems, []);
  },
};

mkdirSync(folder, { recursive: true });
await runTests(chromium, tests);
