// Uses the playground in a headless Chromium, from disk and from a server.
//
//   node test.mjs COLLSIM FOLDER [WORD IN THE NAMES OF TESTS]
//
// FOLDER has playground.html; screenshots are left there. COLLSIM is the command whose answers the page's have to be.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { openWatched, runTests } from '../browser-tests.mjs';
import { root } from '../engine/parts.mjs';

const { chromium } = createRequire(new URL('../viewer/package.json', import.meta.url))('playwright-core');
const [command, folder, only] = process.argv.slice(2);
const address = pathToFileURL(path.resolve(folder, 'playground.html')).href;
const desk = { width: 1280, height: 900 };
const phone = { width: 390, height: 844 };
const slowest = 60000; // ms: of a machine that does other things

const answerOf = (args) => spawnSync(command, args, { encoding: 'utf8', maxBuffer: 1 << 26 }).stdout;

/** A page with the question, answered. Whatever it asks the network for, or complains about, is a problem. */
async function open(browser, question = '', { viewport = desk, colorScheme = 'light', from = address } = {}) {
  const expected = (asked) => /^(blob|data|about):/.test(asked) || asked.split('#')[0] === from;
  const watched = await openWatched(browser, question === '' ? from : `${from}#${encodeURIComponent(question)}`, expected, { viewport, colorScheme });
  await answered(watched.page);
  return watched;
}

async function answered(page) {
  await page.waitForFunction(() => /^answered/.test(document.getElementById('status').textContent), null, { timeout: slowest });
}

const shown = (page) => page.locator('#text').textContent();
const charts = (page) => page.frameLocator('#page').locator('.plot svg').count();
const picture = (page, name) => page.screenshot({ path: path.join(folder, `playground-${name}.png`) });

async function answeredAgain(page, action) {
  await page.evaluate(() => { document.getElementById('status').textContent = ''; });
  await action();
  await answered(page);
}

const tests = {
  async the_first_answer_is_a_page_with_charts(browser) {
    const { page, problems } = await open(browser);
    await page.frameLocator('#page').locator('.plot svg').first().waitFor();
    assert.equal(await charts(page), 2);
    const opened = await page.evaluate(() => performance.now());
    console.log(`  ${(opened / 1000).toFixed(2)} s after the page was asked for`);
    await picture(page, 'desk');
    await page.emulateMedia({ colorScheme: 'dark' });
    await picture(page, 'dark');
    assert.deepEqual(problems, []);
  },

  async answers_are_those_of_the_command(browser) {
    const questions = ['run hgx-h200 -b 1M -e 1G -f 8 --format json', 'estimate switch-64 -a ring -b 8 -e 1G -f 32 --format csv',
      'explain dgx-h100-x4 -b 64K', 'choose dgx-b200 --format json', 'run --alpha 1us --bandwidth 50GB/s -n 8 -a ring,tree',
      'crossover dgx-h100-x4 -c broadcast --format csv', 'steps -a tree -n 8', 'topo show gb200-nvl72', 'train --validate published',
      "run dgx-h100-x4 -b 256M --fault 'link: node1/nic3, bandwidth: 10%' --format json", 'run dgx-h100-x64 -b 1G --format json'];
    const { page, problems } = await open(browser);
    for (const question of questions) {
      await page.fill('#command', `collsim ${question}`);
      await answeredAgain(page, () => page.press('#command', 'Enter'));
      assert.equal(await shown(page), answerOf(await page.evaluate((line) => wordsOf(line), question)), question);
      console.log(`  ${await page.locator('#status').textContent()}: ${question}`);
    }
    assert.deepEqual(problems, []);
  },

  async the_form_writes_the_command_and_reads_it(browser) {
    const { page, problems } = await open(browser, 'run dgx-h100 -c all_gather -n 4 -b 1M --env NCCL_PROTO=LL --graph --format csv');
    assert.equal(await page.inputValue('#machine'), 'dgx-h100');
    assert.equal(await page.inputValue('#collective'), 'all_gather');
    assert.equal(await page.inputValue('#variable'), 'NCCL_PROTO=LL');
    assert.equal(await page.inputValue('#others'), '--graph');
    await page.fill('#smallest', '2M');
    const line = 'run dgx-h100 -c all_gather -n 4 -b 2M --env NCCL_PROTO=LL --format csv --graph';
    assert.equal(await page.inputValue('#command'), `collsim ${line}`);
    await answeredAgain(page, () => page.click('#ask'));
    assert.equal(decodeURIComponent(new URL(page.url()).hash.slice(1)), line);
    assert.equal(await shown(page), answerOf(line.split(' ')));
    assert.deepEqual(problems, []);
  },

  async bad_input_has_the_message_of_the_command(browser) {
    const { page } = await open(browser, 'run no-such-machine');
    assert.match(await page.locator('#messages').textContent(), /^collsim: .*no-such-machine/);
    assert.match(await page.locator('#status').textContent(), /exit code 2/);
  },

  async a_question_can_be_cancelled(browser) {
    const { page, problems } = await open(browser);
    await page.fill('#command', 'collsim run dgx-h100-x64 -b 1G --exact');
    await page.press('#command', 'Enter');
    await page.waitForFunction(() => /^computing/.test(document.getElementById('status').textContent));
    await page.waitForTimeout(500);
    const took = await page.evaluate(() => {
      const began = performance.now();
      document.getElementById('cancel').click();
      return performance.now() - began;
    });
    assert.ok(took < 200, `${took} ms`);
    console.log(`  cancelled in ${took.toFixed(1)} ms`);
    assert.equal(await page.locator('#status').textContent(), 'cancelled');
    await page.fill('#command', 'collsim run hgx-h200 -b 1M --format csv');
    await answeredAgain(page, () => page.press('#command', 'Enter'));
    assert.equal(await shown(page), answerOf(['run', 'hgx-h200', '-b', '1M', '--format', 'csv']));
    assert.deepEqual(problems, []);
  },

  async a_call_is_played(browser) {
    const { page, problems } = await open(browser, 'view hgx-h200 -a ring -b 4M --output view.html');
    const view = page.frameLocator('#page');
    await view.locator('#play').click();
    await page.waitForTimeout(300);
    assert.ok(Number(await view.locator('#time').inputValue()) > 0);
    await picture(page, 'view');
    assert.deepEqual(problems, []);
  },

  async files_are_read_by_the_command_that_takes_them(browser) {
    const { page, problems } = await open(browser);
    const drop = async (names) => {
      await answeredAgain(page, () => page.setInputFiles('#chosen', names.map((name) => path.join(root, name))));
      return page.inputValue('#command');
    };
    assert.match(await drop(['recordings/published/h100x2-gpu01-ring-nop2p-allreduce.yaml']), /^collsim diagnose h100x2.* --format html$/);
    assert.equal(await charts(page), 1);
    await picture(page, 'diagnose');
    assert.match(await drop(['docs/learn/schedules/ring.yaml']), /^collsim check --algorithm ring.yaml/);
    assert.match(await shown(page), /proved/);
    assert.match(await drop(['tests/data/flight-recorder/late/late-rank0.pickle']), /^collsim hang /);
    assert.match(await drop(['tests/data/kineto/step-tp-S-rank0.json.gz', 'tests/data/kineto/step-tp-S-rank1.json.gz']), /^collsim replay /);
    assert.match(await page.locator('#status').textContent(), /exit code 0$/);
    assert.match(await drop(['tests/data/nccl-machines/h100_4x400g.xml']), /^collsim topo show /);
    await page.fill('#command', 'collsim run h100_4x400g.xml -b 16M --format csv');
    await answeredAgain(page, () => page.press('#command', 'Enter'));
    assert.equal(await shown(page), answerOf(['run', path.join(root, 'tests/data/nccl-machines/h100_4x400g.xml'), '-b', '16M', '--format', 'csv']));
    assert.deepEqual(problems, []);
  },

  async a_schedule_is_written_checked_played_and_raced(browser) {
    const { page, problems } = await open(browser, 'check -a exercise-1.yaml --ranks 4');
    assert.match(await shown(page), /rank 3 lacks rank 0's contribution/);
    const verdict = (words) => page.waitForFunction((text) => document.getElementById('verdict').textContent.includes(text), words, { timeout: slowest });
    await verdict('lacks');
    assert.equal(await page.locator('#numbers .bad').textContent(), '12\n');
    await picture(page, 'editor');
    await page.fill('#schedule', 'collsim: schedule/1\ncollective all_reduce\n');
    await verdict('unknown key');
    const said = await page.locator('#verdict').textContent();
    const [, line] = said.match(/mine\.yaml:(\d+):/);
    await page.locator('#verdict button').click();
    assert.equal(await page.evaluate(() => document.getElementById('schedule').value
      .slice(0, document.getElementById('schedule').selectionStart).split('\n').length), Number(line));
    await page.selectOption('#schedules', 'halving-doubling.yaml');
    await verdict('proved');
    assert.equal(await page.locator('#numbers .bad').count(), 0);
    await answeredAgain(page, () => page.click('#play'));
    await page.frameLocator('#page').locator('#play').waitFor();
    await answeredAgain(page, () => page.click('#race'));
    await page.frameLocator('#page').locator('.plot svg').first().waitFor();
    await picture(page, 'race');
    const linked = await open(browser, decodeURIComponent(new URL(page.url()).hash.slice(1)), { viewport: phone, colorScheme: 'dark' });
    assert.equal(await linked.page.inputValue('#schedule'), await page.inputValue('#schedule'));
    const used = await linked.page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(used <= phone.width, `${used} pixels wide`);
    await picture(linked.page, 'editor-phone');
    assert.deepEqual([...problems, ...linked.problems], []);
  },

  async sliders_ask_the_engine(browser) {
    const { page, problems } = await open(browser, 'run hgx-h200 -b 1M --format csv');
    assert.equal(await page.locator('#sliders input:visible').count(), 0);
    await page.selectOption('#kind', 'alpha, beta and N');
    await answeredAgain(page, () => page.click('#ask'));
    const said = () => page.frameLocator('#page').locator('body').innerText();
    const before = await said();
    await page.locator('#sliders input').first().focus();
    await answeredAgain(page, () => page.keyboard.press('PageUp'));
    await page.waitForFunction(() => !sliding);
    const line = await page.inputValue('#command');
    assert.match(line, /^collsim crossover /);
    const [, alpha] = line.match(/--alpha ([\d.]+)us /);
    assert.ok(Number(alpha) > 1, line);
    assert.notEqual(await said(), before);
    await picture(page, 'sliders');
    await page.frameLocator('#page').locator('html').evaluate((element) => { element.lang = 'kept'; });
    const { steps, engines } = await page.evaluate(async () => {
      const { input } = sliders['--bandwidth'];
      const asked = answerTo;
      const engines = [];
      answerTo = async (args) => {
        const began = performance.now();
        const answer = await asked(args);
        engines.push(performance.now() - began);
        return answer;
      };
      const times = [];
      for (let step = 1; step <= 20; ++step) {
        const began = performance.now();
        input.value = step / 21;
        input.dispatchEvent(new Event('input'));
        while (sliding) await new Promise((resolve) => { setTimeout(resolve, 5); });
        times.push(performance.now() - began);
      }
      answerTo = asked;
      return { steps: times.sort((a, b) => a - b), engines: engines.sort((a, b) => a - b) };
    });
    console.log(`  a step of a slider is drawn in ${steps[10].toFixed(0)} ms, ${engines[10].toFixed(0)} ms of which the engine takes; the slowest of twenty in ${steps[19].toFixed(0)} ms`);
    assert.equal(await page.frameLocator('#page').locator('html').getAttribute('lang'), 'kept'); // no step loads the page again
    assert.equal(decodeURIComponent(new URL(page.url()).hash.slice(1)), (await page.inputValue('#command')).replace('collsim ', ''));
    for (const format of ['csv', 'csv --map']) {
      const asked = line.replace('--format html', `--format ${format}`);
      await page.fill('#command', asked);
      await answeredAgain(page, () => page.press('#command', 'Enter'));
      assert.equal(await shown(page), answerOf(asked.split(' ').slice(1)));
    }
    await page.fill('#command', line);
    await answeredAgain(page, () => page.press('#command', 'Enter'));
    await page.setViewportSize(phone);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= phone.width);
    await page.emulateMedia({ colorScheme: 'dark' });
    await picture(page, 'sliders-phone');
    assert.deepEqual(problems, []);
  },

  async two_machines_stand_side_by_side(browser) {
    const { page, problems } = await open(browser);
    await page.fill('#second', 'dgx-h100');
    const line = await page.inputValue('#command');
    assert.equal(line.split('; ')[1], line.split('; ')[0].replace('hgx-h200', 'dgx-h100'));
    await answeredAgain(page, () => page.click('#ask'));
    const frames = page.locator('#answer iframe');
    assert.equal(await frames.count(), 2);
    const places = await frames.evaluateAll((all) => all.map((each) => each.getBoundingClientRect().top));
    assert.equal(places[0], places[1]);
    const [ticks, others] = await Promise.all((await frames.all()).map((frame) => frame.contentFrame()
      .locator('.plot [aria-label$="-axis tick label"]').allTextContents()));
    assert.deepEqual(ticks, others);
    await picture(page, 'two');
    await page.selectOption('#format', 'csv');
    await answeredAgain(page, () => page.click('#ask'));
    const [first, second] = (await page.inputValue('#command')).split('; ').map((each) => answerOf(each.split(' ').slice(1)));
    assert.deepEqual(await page.locator('#answer .text').allTextContents(), [first, second]);
    assert.match(await page.locator('#status').textContent(), /exit code 0 and 0$/);
    const linked = await open(browser, line.replace(/^collsim /, ''), { viewport: phone, colorScheme: 'dark' });
    assert.equal(await linked.page.inputValue('#second'), 'dgx-h100');
    assert.equal(await linked.page.inputValue('#command'), line);
    assert.ok(await linked.page.evaluate(() => document.documentElement.scrollWidth) <= phone.width);
    await linked.page.locator('#answer iframe').last().scrollIntoViewIfNeeded();
    await picture(linked.page, 'two-phone');
    await page.fill('#command', 'collsim choose hgx-h200; collsim topo show switch-8');
    await answeredAgain(page, () => page.press('#command', 'Enter'));
    assert.equal(await page.inputValue('#kind'), 'a command of mine');
    assert.deepEqual(await page.locator('#answer .text').allTextContents(), [answerOf(['choose', 'hgx-h200']), answerOf(['topo', 'show', 'switch-8'])]);
    assert.deepEqual([...problems, ...linked.problems], []);
  },

  async train_and_plan_have_forms(browser) {
    const { page, problems } = await open(browser, 'run hgx-h200 -b 1M --format csv');
    for (const [kind, words, plots] of [['a step of training', 'train dgx-h100', 2], ['plan: layouts of training', 'plan train dgx-h100,dgx-a100', 2],
      ['plan: tokens decoded', 'plan serve dgx-h100', 2], ['plan: exchange of experts', 'plan moe dgx-h100', 1], ['plan: what a step moves', 'plan dgx-h100', 2]]) {
      await page.selectOption('#kind', kind);
      const line = await page.inputValue('#command');
      assert.ok(line.startsWith(`collsim ${words}`), line);
      await answeredAgain(page, () => page.click('#ask'));
      assert.match(await page.locator('#status').textContent(), /exit code 0$/, line);
      assert.equal(await charts(page), plots, line);
      console.log(`  ${await page.locator('#status').textContent()}: ${line}`);
      await picture(page, kind.replace(/\W+/g, '-'));
      await page.selectOption('#format', 'table'); // JSON has digits that another C library rounds otherwise
      const asked = await page.inputValue('#command');
      await answeredAgain(page, () => page.click('#ask'));
      assert.equal(await page.inputValue('#kind'), kind);
      assert.equal(await page.inputValue('#command'), asked);
      assert.equal(await shown(page), answerOf(asked.split(' ').slice(1)));
    }
    await page.setViewportSize(phone);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= phone.width);
    await picture(page, 'plan-phone');
    assert.deepEqual(problems, []);
  },

  async a_long_question_says_how_far_it_is(browser) {
    const { page, problems } = await open(browser);
    for (const [line, pattern] of [['run dgx-h100-x64 -b 1G --exact', /\d+ %, \d+ s left/], ['crossover dgx-h100-x4 -c broadcast', /looking for crossovers/]]) {
      await page.fill('#command', `collsim ${line}`);
      await page.press('#command', 'Enter');
      await page.waitForFunction(() => !document.getElementById('progress').hidden, null, { timeout: slowest });
      await page.waitForTimeout(1500);
      assert.match(await page.locator('#status').textContent(), pattern);
      await picture(page, 'progress');
      await page.keyboard.press('Escape');
      assert.equal(await page.locator('#progress').isVisible(), false);
    }
    await page.fill('#command', 'collsim run dgx-h100-x8-4-1 -b 1G --exact --format csv');
    await answeredAgain(page, () => page.press('#command', 'Enter'));
    assert.equal(await shown(page), answerOf('run dgx-h100-x8-4-1 -b 1G --exact --format csv'.split(' '))); // nothing of the progress
    assert.deepEqual(problems, []);
  },

  async the_keyboard_is_enough(browser) {
    const { page, problems } = await open(browser);
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'kind');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Control+A');
    await page.keyboard.type('dgx-a100');
    await answeredAgain(page, () => page.keyboard.press('Enter'));
    assert.match(await page.frameLocator('#page').locator('.command').textContent(), /^collsim run dgx-a100 /);
    const nameless = await page.evaluate(() => [...document.querySelectorAll('input, select, textarea, button, iframe')]
      .filter((each) => !(each.labels?.length || each.textContent.trim() || each.title || each.getAttribute('aria-label'))).map((each) => each.id));
    assert.deepEqual(nameless, []);
    assert.deepEqual(problems, []);
  },

  async a_phone_shows_all_of_it(browser) {
    const { page, problems } = await open(browser, '', { viewport: phone });
    const used = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(used <= phone.width, `${used} pixels wide`);
    await picture(page, 'phone');
    assert.deepEqual(problems, []);
  },

  async a_server_gives_the_same_page(browser) {
    const content = readFileSync(path.join(folder, 'playground.html'));
    const server = createServer((_, response) => {
      response.setHeader('Content-Type', 'text/html; charset=utf-8');
      response.end(content);
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => { server.once('listening', resolve); });
    const from = `http://127.0.0.1:${server.address().port}/playground.html`;
    const { page, problems } = await open(browser, 'run hgx-h200 -b 1M --format csv', { from });
    assert.equal(await shown(page), answerOf(['run', 'hgx-h200', '-b', '1M', '--format', 'csv']));
    await page.close();
    server.close();
    assert.deepEqual(problems, []);
  },
};

await runTests(chromium, Object.fromEntries(Object.entries(tests).filter(([name]) => !only || name.includes(only))));
