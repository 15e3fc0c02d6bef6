// Runs tests of pages in a headless Chromium: `tests` has a function of the browser for each name.
const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';

/**
 * A page that is watched: what it complains about is a problem, and so is each address that it asks for and that `expected`
 * does not match. It lists them under `problems`, and opens `address` at once.
 */
export async function openWatched(browser, address, expected, { viewport = { width: 1280, height: 720 }, colorScheme = 'light' } = {}) {
  const page = await browser.newPage({ viewport, colorScheme });
  const problems = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('request', (request) => {
    if (!expected(request.url())) problems.push(request.url());
  });
  await page.goto(address);
  return { page, problems };
}

export async function runTests(chromium, tests) {
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  let failed = 0;
  for (const [name, test] of Object.entries(tests)) {
    try {
      await test(browser);
      console.log(`ok ${name}`);
    } catch (error) {
      ++failed;
      console.log(`FAILED ${name}: ${error.stack}`);
    }
  }
  await browser.close();
  process.exit(failed === 0 ? 0 : 1);
}
