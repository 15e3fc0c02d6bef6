// Runs tests of pages in a headless Chromium: `tests` has a function of the browser for each name.
const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';

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
