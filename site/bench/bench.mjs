// Measures the site over the real library, and writes docs/reference/site.md: the weights of pages, the time from a key
// press to painted results with a processor 4 times slower, and the largest paint and blocked time with a slow network.
// With ICONEDGE_DATA it runs over the library that is published there.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { browse, run } from '../test/serve.mjs';

const data = process.env.ICONEDGE_DATA;
const dir = data ?? mkdtempSync(join(tmpdir(), 'iconedge-bench-'));
if (!data) execFileSync(process.env.ICONEDGE, ['publish', '--store', 'dir:' + join(dir, 'store'), process.env.LIBRARY], { stdio: ['ignore', 'ignore', 'inherit'] });
const site = await run(dir, '--limit', 'pages=off');
const browser = await browse();
const quantile = (list, q) => [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * q))];

/** A response on the wire with br, and its text. */
const fetched = (path) => new Promise((ok, no) => request(site.base + path, { headers: { 'accept-encoding': 'br' } }, (r) => {
  const parts = [];
  r.on('data', (part) => parts.push(part)).on('end', () => {
    const body = Buffer.concat(parts);
    ok({ bytes: body.length, text: String(r.headers['content-encoding'] === 'br' ? brotliDecompressSync(body) : body) });
  });
}).on('error', no).end());

/** The weights of files and pages. */
async function weights() {
  const home = await fetched('/');
  const file = async (name) => (await fetched(new RegExp(`/-/site/${name}\\.[0-9a-f]+\\.\\w+`).exec(home.text)[0])).bytes;
  const [script, theme, style] = [await file('app'), await file('theme'), await file('style')];
  const heaviest = async (paths) => {
    let most = 0;
    for (const path of paths) most = Math.max(most, (await fetched(path)).bytes);
    return most;
  };
  const packs = [...(await fetched('/packs')).text.matchAll(/href="(\/pack\/[^"]+)"/g)].map((m) => m[1]);
  const icons = [];
  for (const pack of packs) icons.push(...[...(await fetched(pack)).text.matchAll(/href="(\/icon\/[^"]+)"/g)].map((m) => m[1]).filter((_, i) => i % 40 === 0));
  const icon = await heaviest(icons);
  return [
    ['script', script + theme, 8000], ['style sheet', style, 6000], ['service worker', (await fetched('/sw.js')).bytes, 3000],
    ['home', home.bytes, 14_000], ['home with script and style', home.bytes + script + theme + style, 25_000],
    [`icon, the heaviest of ${icons.length}`, icon, 7000], ['the same with style', icon + style, 10_000],
    ['results, the heaviest of 8', await heaviest(['home', 'a', 'arrow', 'logo', 'noto smile', 'user circle', 'weather cloud', 'flag'].map((q) => '/search?q=' + encodeURIComponent(q))), 9000],
    [`pack, the heaviest of ${packs.length}`, await heaviest(packs), 14_000],
  ];
}

/** The times from a key press until the results of its query are painted. */
async function keys() {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
  const cdp = await page.context().newCDPSession(page);
  await page.goto(site.base + '/search?q=a', { waitUntil: 'load' });
  await cdp.send('Emulation.setCPUThrottlingRate', { rate: 4 });
  await page.evaluate(() => {
    addEventListener('keydown', (event) => (globalThis.pressed = event.timeStamp), true);
    globalThis.painted = (query) => new Promise((done) => {
      setTimeout(() => done(10_000), 10_000); // the results never came
      const observer = new MutationObserver(() => {
        if (document.querySelector('[data-testid=results]')?.dataset.query !== query) return;
        observer.disconnect();
        requestAnimationFrame(() => {
          const channel = new MessageChannel(); // its message comes after the frame
          channel.port1.onmessage = () => done(performance.now() - globalThis.pressed);
          channel.port2.postMessage(0);
        });
      });
      observer.observe(document.querySelector('main'), { childList: true, subtree: true });
    });
  });
  const box = page.getByRole('searchbox', { name: 'Search icons' });
  const times = [];
  const drawn = [];
  for (const words of ['arrow left', 'home outline', 'calendar', 'user circle', 'shopping cart', 'github', 'weather', 'camera off', 'lightbulb', 'file download', 'heart', 'settings', 'cloud rain', 'lock open']) {
    await box.fill('');
    await page.waitForTimeout(400);
    for (let n = 1; n <= words.length; n++) {
      const key = words[n - 1];
      if (key === ' ') { // the query stays the same
        await page.keyboard.press('Space');
        continue;
      }
      const painted = page.evaluate((query) => globalThis.painted(query), words.slice(0, n));
      await page.keyboard.press(key);
      const time = await painted;
      times.push(time);
      await page.waitForTimeout(Math.max(20, 150 - time));
    }
    // The icons in the window, after the last key.
    drawn.push(await page.evaluate(() => new Promise((done) => {
      const ready = (image) => image.getBoundingClientRect().top > innerHeight || (image.src && image.complete);
      const look = () => (!document.querySelector('.more') && [...document.querySelectorAll('.grid img')].every(ready) ? done(performance.now() - globalThis.pressed) : setTimeout(look, 10));
      look();
    })));
  }
  await page.context().close();
  return { times, drawn };
}

/** The largest paint and the blocked time of a page, with a slow network and processor. */
async function load(path) {
  const context = await browser.newContext({ viewport: { width: 412, height: 823 }, serviceWorkers: 'block' });
  const page = await context.newPage();
  const cdp = await context.newCDPSession(page);
  await cdp.send('Network.enable');
  await cdp.send('Network.emulateNetworkConditions', { offline: false, latency: 150, downloadThroughput: 1.6e6 / 8, uploadThroughput: 750e3 / 8 });
  await cdp.send('Emulation.setCPUThrottlingRate', { rate: 4 });
  await page.addInitScript(() => {
    globalThis.paint = globalThis.blocked = 0;
    new PerformanceObserver((l) => l.getEntries().forEach((e) => (globalThis.paint = e.startTime))).observe({ type: 'largest-contentful-paint', buffered: true });
    new PerformanceObserver((l) => l.getEntries().forEach((e) => (globalThis.blocked += Math.max(0, e.duration - 50)))).observe({ type: 'longtask', buffered: true });
  });
  await page.goto(site.base + path, { waitUntil: 'load' });
  await page.waitForTimeout(1000);
  const got = await page.evaluate(() => ({ paint: globalThis.paint, blocked: globalThis.blocked }));
  await context.close();
  return got;
}

const busy = loadavg()[0]; // before this program works
const heavy = await weights();
console.error("weights", ...heavy.map((row) => row[1]));
const { times, drawn } = await keys();
console.error("keys", ...[0.5, 0.95, 1].map((q) => Math.round(quantile(times, q))), 'icons', ...drawn.map(Math.round));
const rows = [];
const paints = [];
for (const [name, path] of [['home', '/'], ['results', '/search?q=home'], ['icon', '/icon/mdi/home'], ['icon with own colours', '/icon/noto/rocket'], ['pack', '/pack/lucide'], ['all packs', '/packs']]) {
  const runs = [];
  for (let i = 0; i < 3; i++) runs.push(await load(path));
  const [paint, blocked] = ['paint', 'blocked'].map((of) => Math.round(quantile(runs.map((r) => r[of]), 0.5)));
  console.error(name, paint, blocked);
  paints.push(paint);
  rows.push(`| ${name} | ${paint} | ${blocked} |`);
}
await browser.close();
await (data ? site.end() : site.stop());
const at = (q) => Math.round(quantile(times, q));
const grouped = (n) => n.toLocaleString('en');
const text = `# The site, measured

**In short:** A key press is followed by its results within ${at(0.5)} ms in half of the cases, on a processor that is slowed 4 times. A page weighs at most
${Math.ceil(Math.max(...heavy.map(([, bytes]) => bytes)) / 1000)} kB with its script, and over a slow network its largest part is painted within ${Math.max(...paints)} ms.

\`make bench-site\` writes this page. It measures the site over the real library (370,000 icons), with one edge and origin on the same machine as the browser, headless Chromium.
The machine has ${cpus().length} processors; before the measurement its load was ${busy.toFixed(1)}. Above 0.5, other programs make all times longer.

## Weights
Bytes on the wire with br, without icons. A test in \`make test\` holds them too.

| what | bytes | at most |
|---|---|---|
${heavy.map(([what, bytes, most]) => `| ${what} | ${grouped(bytes)} | ${grouped(most)} |`).join('\n')}

## From a key press to painted results
The processor is slowed 4 times. ${times.length} key presses over loopback, each with results of its own: half within ${at(0.5)} ms, 95 of 100 within ${at(0.95)} ms (the budget is 100 ms), all within ${Math.round(Math.max(...times))} ms.
Two rows of results are painted then, with their icons. The rest of the list follows in the next frame, and the icons that can't be parts of the page as images: after the last key of ${drawn.length} queries (200 ms of which are a pause), everything in the window was painted within ${Math.round(quantile(drawn, 0.5))} ms in half of the cases, and within ${Math.round(Math.max(...drawn))} ms in all.

## Loading a page
A network of 1.6 Mbit/s with 150 ms of latency for each request, a processor 4 times slower, a window of 412 × 823 pixels, the median of three visits without a cache in the browser. The budgets are 1,500 ms and 100 ms.

| page | largest paint, ms | blocked, ms |
|---|---|---|
${rows.join('\n')}
`;
console.log(text);
if (!process.env.DRY) writeFileSync(new URL('../../docs/reference/site.md', import.meta.url), text);
