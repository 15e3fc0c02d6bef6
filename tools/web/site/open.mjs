// Opens pages of the site from disk in a headless Chromium, and searches, as a reader does. Nothing may go wrong in the
// console, and nothing may be asked of the network.
//
//   node open.mjs FOLDER

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { openWatched, runTests } from '../browser-tests.mjs';

const { chromium } = createRequire(new URL('../viewer/package.json', import.meta.url))('playwright-core');
const site = path.resolve(process.argv[2]);

function open(browser, name) {
  const viewport = { width: 1280, height: 800 };
  return openWatched(browser, pathToFileURL(path.join(site, name)).href, (asked) => !/^(https?|wss?):/.test(asked), { viewport });
}

const tests = {
  async the_first_page_finds_a_word_of_another(browser) {
    const { page, problems } = await open(browser, 'index.html');
    await page.click('label.md-header__button[for="__search"]:visible, input.md-search__input:visible');
    await page.fill('input.md-search__input', 'halving');
    // The index of all pages is built in the browser: on a busy machine it takes over half a minute.
    await page.waitForSelector('.md-search-result__link', { timeout: 120000 });
    const found = await page.locator('.md-search-result__link').first().getAttribute('href');
    await page.goto(found);
    assert.match(await page.textContent('article'), /halving/i);
    assert.deepEqual(problems, []);
  },

  async lessons_play_calls(browser) {
    for (const lesson of ['ring', 'tree', 'one-slow-link']) {
      const { page, problems } = await open(browser, `docs/learn/${lesson}.html`);
      const view = page.frameLocator('iframe.view');
      await view.locator('#play').click();
      await page.waitForTimeout(300);
      assert.ok(Number(await view.locator('#time').inputValue()) > 0);
      await page.locator('iframe.view').evaluate((frame) => frame.scrollIntoView());
      await page.screenshot({ path: path.join(site, '..', `site-${lesson}.png`) });
      assert.deepEqual(problems, []);
    }
  },

  // The one page to keep, as a file to print: docs/learn/handout.pdf beside it.
  async the_handout_is_one_page_of_paper(browser) {
    const { page, problems } = await open(browser, 'docs/learn/handout.html');
    await page.emulateMedia({ media: 'print', colorScheme: 'light' });
    // The theme's page is as high as a window and ends in a footer, which would be a second, empty page.
    await page.evaluate(() => document.body.replaceChildren(document.querySelector('article')));
    await page.evaluate(() => { for (const each of [document.documentElement, document.body]) each.style.cssText = 'height: auto; min-height: 0'; });
    const file = path.join(site, 'docs/learn/handout.pdf');
    await page.pdf({ path: file, format: 'A4', scale: 0.9, margin: { top: '8mm', bottom: '8mm', left: '8mm', right: '8mm' } });
    const pages = fs.readFileSync(file, 'latin1').match(/\/Type\s*\/Page[^s]/g);
    assert.equal(pages.length, 1);
    assert.deepEqual(problems, []);
  },

  async answers_unfold(browser) {
    const { page, problems } = await open(browser, 'docs/learn/busbw.html');
    const output = page.locator('details pre').first();
    assert.equal(await output.isVisible(), false);
    await page.locator('details summary').first().click();
    assert.equal(await output.isVisible(), true);
    assert.deepEqual(problems, []);
  },
};

await runTests(chromium, tests);
