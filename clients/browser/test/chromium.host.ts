// The extension in a real Chromium, with real keys, and the service of the program in ICONEDGE.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import axe from 'axe-core';
import { launch, type Browser, type Page } from 'puppeteer-core';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { Relay } from '../../core/test/relay';

declare module 'vitest' {
  interface ProvidedContext {
    edge: string;
  }
}

const extension = new URL('../build/chromium', import.meta.url).pathname;
const find = () =>
  execFileSync('sh', ['-c', 'command -v chromium chromium-browser google-chrome | head -1']).toString().trim();

let browser: Browser;
let id: string;
let popup: Page;
let relay: Relay;

beforeAll(async () => {
  relay = new Relay(inject('edge'));
  await relay.start();
  browser = await launch({
    executablePath: find(),
    pipe: true,
    enableExtensions: [extension],
    args: ['--no-sandbox', '--lang=en'],
  });
  const worker = await browser.waitForTarget((t) => t.type() === 'service_worker' && t.url().endsWith('background.js'));
  id = new URL(worker.url()).host;
}, 60_000);
afterAll(async () => {
  await browser?.close();
  relay.stop();
});

beforeEach(async () => {
  relay.answer = undefined;
  await popup?.close().catch(() => undefined);
  popup = await browser.newPage();
  await popup.setViewport({ width: 400, height: 520 });
  await popup.goto(`chrome-extension://${id}/options.html`);
  await popup.evaluate(() => chrome.storage.session.clear());
  await popup.evaluate((baseUrl) => chrome.storage.local.set({ settings: { baseUrl, insertAs: 'svg' } }), relay.url);
  await popup.goto(`chrome-extension://${id}/popup.html`);
  await popup.waitForSelector('#q:focus');
  relay.asked.length = 0;
});

const status = (words: string) =>
  popup.waitForFunction((w) => document.getElementById('status')!.textContent!.includes(w), {}, words);

test('typing searches once, shows licences and pictures, and Enter copies with the credit', async () => {
  await browser
    .defaultBrowserContext()
    .setPermission(`chrome-extension://${id}`, { permission: { name: 'clipboard-read' }, state: 'granted' });
  expect(relay.asked).toEqual([]);
  await popup.type('#q', 'home', { delay: 60 });
  await status('found');
  expect(relay.searches).toHaveLength(1);
  expect(relay.searches[0]!.url).toContain('q=home&limit=50');
  await popup.waitForFunction(
    () =>
      [...document.images].length > 0 &&
      [...document.images].every((i) => i.src.startsWith('data:') && i.naturalWidth > 0),
  );
  const first = await popup.$eval('[role=option][aria-selected=true]', (o) => [
    (o as HTMLElement).dataset.icon,
    o.textContent,
  ]);
  expect(first[1]).toMatch(/MIT|Apache|ISC|CC/);
  if (process.env.ICONEDGE_PICTURES)
    await popup.screenshot({ path: new URL('../popup.png', import.meta.url).pathname });
  await popup.keyboard.press('Enter');
  await status('Copied ' + first[0]!);
  const text = await popup.evaluate(() => navigator.clipboard.readText());
  expect(text).toMatch(new RegExp(`^<!-- ${first[0]!}: license .*; attribution: .* -->\n<svg `));
});

test('a picture is copied and saved', async () => {
  await popup.type('#q', 'home');
  await status('found');
  const name = await popup.$eval('[aria-selected=true]', (o) => (o as HTMLElement).dataset.icon!);
  await popup.keyboard.down('Shift');
  await popup.keyboard.press('Enter');
  await popup.keyboard.up('Shift');
  await popup.waitForSelector('#forms[open] button:focus');
  await popup.$$eval('#forms button', (all) => all.at(-1)!.click());
  await status('Copied the PNG of ' + name);
  const sides = await popup.evaluate(async () => {
    const [item] = await navigator.clipboard.read();
    const picture = await createImageBitmap(await item!.getType('image/png'));
    return [picture.width, picture.height];
  });
  expect(sides).toEqual([64, 64]);
  await popup.evaluate(() => {
    HTMLAnchorElement.prototype.click = function () {
      document.title = this.download;
    };
  });
  await popup.click('#save');
  await status('Saved ' + name);
  expect(await popup.title()).toBe(name.replace('/', '-') + '.png');
});

test('the next popup makes no request for the same search, and none before Retry-After has passed', async () => {
  const again = async (text: string) => {
    await popup.goto(`chrome-extension://${id}/popup.html`);
    await popup.waitForSelector('#q:focus');
    await popup.type('#q', text);
  };
  await popup.type('#q', 'square');
  await status('found');
  await again('square');
  await status('found');
  expect(relay.searches).toHaveLength(1);
  relay.answer = () => ({ status: 429, body: '{}', retry: '7' });
  await again('squares');
  await status('rate limit');
  await again('squared');
  await status('rate limit');
  expect(relay.searches).toHaveLength(2);
});

test('axe finds nothing, in light and dark', async () => {
  await popup.type('#q', 'home');
  await status('found');
  for (const value of ['light', 'dark']) {
    await popup.emulateMediaFeatures([{ name: 'prefers-color-scheme', value }]);
    await popup.evaluate(axe.source).catch(() => undefined);
    const session = await popup.createCDPSession();
    await session.send('Runtime.evaluate', { expression: axe.source });
    const found = await popup.evaluate(async () =>
      (await (globalThis as unknown as { axe: typeof axe }).axe.run()).violations.map(
        (v) => v.id + ': ' + v.nodes.map((n) => n.html).join(),
      ),
    );
    expect(found, value).toEqual([]);
  }
});

test('the keyboard chooses icon and form, and a non-commercial icon asks once', async () => {
  await popup.type('#q', 'disc');
  await status('found');
  expect(await popup.$eval('[role=option]', (o) => o.textContent)).toContain('non-commercial');
  await popup.keyboard.down('Shift');
  await popup.keyboard.press('Enter');
  await popup.keyboard.up('Shift');
  await popup.waitForSelector('#forms[open] button:focus');
  for (let i = 0; i < 3; i++) await popup.keyboard.press('Tab');
  await popup.keyboard.press('Enter'); // url
  await popup.waitForSelector('#confirm[open] button:focus');
  await popup.keyboard.press('Enter');
  await status('Copied nc/disc');
  expect(await popup.evaluate(() => navigator.clipboard.readText())).toMatch(/\/nc\/disc\.svg$/);
  await popup.keyboard.press('Enter');
  await popup.waitForFunction(async () => (await navigator.clipboard.readText()).includes('<svg'));
  expect(await popup.$('#confirm[open]')).toBeNull();
});

test.each([
  ['429', { status: 429, body: '{}', retry: '7' }, 'retry in 7 seconds'],
  ['500', { status: 500, body: 'x' }, 'status 500'],
  ['half a JSON', { status: 200, body: '{"results":[' }, 'invalid response'],
  ['HTML', { status: 200, body: '<!doctype html>' }, 'invalid response'],
])('after %s the last results stay', async (_, fault, words) => {
  await popup.type('#q', 'home');
  await status('found');
  const before = await popup.$$eval('[role=option]', (o) => o.length);
  relay.answer = (url) => (url.includes('/search') ? fault : undefined);
  await popup.type('#q', 's');
  await status(words);
  expect(await popup.$$eval('[role=option]', (o) => o.length)).toBe(before);
});

test('the token goes to its origin alone, and a change of origin deletes it', async () => {
  const options = await browser.newPage();
  await options.goto(`chrome-extension://${id}/options.html`);
  await options.evaluate(() => {
    chrome.permissions.request = (async () => true) as never;
  });
  await options.type('#token', 'iel_secret');
  await options.click('[type=submit]');
  await options.waitForFunction(() => document.getElementById('status')!.textContent!.includes('saved'));
  await popup.bringToFront();
  await popup.reload();
  await popup.type('#q', 'home');
  await status('found');
  expect(relay.searches.at(-1)!.token).toBe('Bearer iel_secret');
  expect(relay.asked.filter((a) => a.url.endsWith('.svg')).every((a) => !a.token)).toBe(true);
  await options.bringToFront();
  await options.$eval('#baseUrl', (e) => ((e as HTMLInputElement).value = 'http://localhost:1'));
  await options.click('[type=submit]');
  await options.waitForFunction(async () => !(await chrome.storage.local.get('secret')).secret);
  await options.close();
});

test('an icon is inserted at the caret of the page, and one undo reverts it', async () => {
  const page = await browser.newPage();
  await page.setContent('<textarea id="t">ab</textarea><p>x</p>');
  const source = readFileSync(new URL('../page.ts', import.meta.url), 'utf8');
  const { transformSync } = await import('esbuild');
  const code = transformSync(source.replace('export ', ''), { loader: 'ts' }).code;
  const run = (text: string) => page.evaluate(`(() => { ${code}; return insertIntoPage(${JSON.stringify(text)}); })()`);
  expect(await run('x')).toBe(false);
  await page.focus('#t');
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowRight');
  expect(await run('<svg/>')).toBe(true);
  expect(await page.$eval('#t', (t) => (t as HTMLTextAreaElement).value)).toBe('a<svg/>b');
  await page.keyboard.down('Control');
  await page.keyboard.press('z');
  await page.keyboard.up('Control');
  expect(await page.$eval('#t', (t) => (t as HTMLTextAreaElement).value)).toBe('ab');
  await page.close();
});

test('the popup of the toolbar inserts at the caret of the page, which it may reach only now', async () => {
  const page = await browser.newPage();
  await page.goto(relay.url + '/healthz');
  await page.setContent('<textarea id="t">ab</textarea>');
  await page.focus('#t');
  await page.keyboard.press('End');
  const extension = (await browser.extensions()).get(id)!;
  await page.triggerExtensionAction(extension);
  const target = await browser.waitForTarget((t) => t.url().endsWith('popup.html') && t !== popup.target());
  const real = await target.asPage();
  await real.waitForSelector('#q');
  await real.type('#q', 'home');
  await real.waitForFunction(() => document.getElementById('status')!.textContent!.includes('found'));
  await real.click('#insert');
  await page.waitForFunction(() => document.querySelector('textarea')!.value.includes('<svg'));
  expect(await page.$eval('#t', (t) => (t as HTMLTextAreaElement).value)).toMatch(
    /^ab<!-- \w+\/home: license .*-->\n<svg /,
  );
  await page.close();
});
