// The extension in the server of VS Code (code-server), in a real Chromium with real keys, and the service of the
// program in ICONEDGE. The folder is not trusted, so everything here works in Restricted Mode.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { launch, type Browser, type Page } from 'puppeteer-core';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { Relay } from '../../core/test/relay';

const at = (path: string) => new URL(path, import.meta.url).pathname;
const program = at('../host/node_modules/code-server/out/node/entry.js');
const chromium = execFileSync('sh', ['-c', 'command -v chromium chromium-browser google-chrome | head -1'])
  .toString()
  .trim();
if (!existsSync(program)) console.log('SKIPPED: the extension for VS Code, because code-server is not installed');

let home: string;
let server: ChildProcess;
let address = '';
let browser: Browser;
let page: Page;
let relay: Relay;
let elsewhere: Relay; // the address that the folder's settings name

const settings = {
  'security.workspace.trust.startupPrompt': 'never',
  'security.workspace.trust.banner': 'never',
  'workbench.startupEditor': 'none',
  'workbench.colorTheme': 'Default Light Modern',
  'telemetry.telemetryLevel': 'off',
  'editor.quickSuggestionsDelay': 10,
  'html.autoClosingTags': false,
  'chat.commandCenter.enabled': false,
};

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'iconedge-vscode-'));
  [relay, elsewhere] = [new Relay(inject('edge')), new Relay(inject('edge'))];
  await Promise.all([relay.start(), elsewhere.start()]);
  const all = JSON.stringify({ ...settings, 'iconedge.baseUrl': relay.url });
  for (const where of ['User', 'Machine']) {
    mkdirSync(join(home, 'data', where), { recursive: true });
    writeFileSync(join(home, 'data', where, 'settings.json'), all);
  }
  mkdirSync(join(home, 'folder', '.vscode'), { recursive: true });
  writeFileSync(
    join(home, 'folder', '.vscode', 'settings.json'),
    JSON.stringify({ 'iconedge.baseUrl': elsewhere.url, 'iconedge.token': 'iel_x' }),
  );
  const own = [
    '--config',
    join(home, 'config.yaml'),
    '--user-data-dir',
    join(home, 'data'),
    '--extensions-dir',
    join(home, 'extensions'),
  ];
  writeFileSync(join(home, 'config.yaml'), 'auth: none\n');
  const env = { ...process.env, HOME: home, XDG_DATA_HOME: home, XDG_CONFIG_HOME: home };
  execFileSync('node', [program, ...own, '--install-extension', at('../build/iconedge-vscode.vsix')], { env });
  const quiet = ['--disable-telemetry', '--disable-update-check', '--disable-getting-started-override'];
  server = spawn('node', [program, ...own, ...quiet, '--bind-addr', '127.0.0.1:0'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface({ input: server.stdout! })) {
    address = /HTTP server listening on (\S+?)\/?$/.exec(line)?.[1] ?? '';
    if (address) break;
  }
  server.stdout!.resume();
  browser = await launch({
    executablePath: chromium,
    args: ['--no-sandbox', '--lang=en'],
    defaultViewport: { width: 1100, height: 640 },
  });
}, 120_000);
afterAll(async () => {
  await browser?.close();
  server?.kill();
  relay?.stop();
  elsewhere?.stop();
  rmSync(home, { recursive: true, force: true, maxRetries: 5 });
});

/** Opens a new document of a name with a text. */
async function open(name: string, text: string): Promise<void> {
  writeFileSync(join(home, 'folder', name), text);
  page = await browser.newPage();
  await page.goto(
    `${address}/?folder=${join(home, 'folder')}&payload=${encodeURIComponent(JSON.stringify([['openFile', `vscode-remote://${new URL(address).host}${join(home, 'folder', name)}`]]))}`,
  );
  await page.waitForSelector('.monaco-editor .view-lines', { timeout: 60_000 });
  await page.waitForFunction(
    (t) => document.querySelector('.view-lines')!.textContent!.replaceAll('\u00a0', ' ').includes(t),
    {},
    text.split('\n')[0]!,
  );
  await page.click('.monaco-editor .view-lines');
}

const press = async (keys: string) => {
  const [key, ...held] = keys.split('+').reverse();
  for (const h of held) await page.keyboard.down(h as 'Control');
  await page.keyboard.press(key as 'Enter');
  for (const h of held) await page.keyboard.up(h as 'Control');
};

/** Runs a command from the palette. */
async function run(command: string): Promise<void> {
  await press('F1');
  await page.waitForSelector('.quick-input-widget:not([style*="none"]) input:focus');
  await page.keyboard.type(command);
  await page.waitForFunction(
    (c) => document.querySelector('.quick-input-list .monaco-list-row.focused')?.textContent?.includes(c),
    {},
    command,
  );
  await press('Enter');
}

/** Returns what the document has on disk after it is saved. */
async function saved(name: string, want: (text: string) => boolean): Promise<string> {
  await press('Control+s');
  for (let n = 0; n < 200; n++) {
    const text = readFileSync(join(home, 'folder', name), 'utf8');
    if (want(text)) return text;
    await new Promise((done) => setTimeout(done, 50));
  }
  return readFileSync(join(home, 'folder', name), 'utf8');
}

// The response to a search whose words are in no name.
const synonym = JSON.stringify({
  results: [
    {
      pack: 'mdi',
      name: 'home',
      url: 'http://127.0.0.1:1/mdi/home.svg',
      license: 'Apache-2.0',
      attribution: 'Material Design Icons by Pictogrammers, Apache-2.0',
      commercial_use: true,
      monochrome: true,
    },
  ],
});

const shows = (words: string) =>
  page.waitForFunction((w) => document.body.textContent!.replaceAll('\u00a0', ' ').includes(w), {}, words);
const picture = (name: string) => process.env.ICONEDGE_PICTURES && page.screenshot({ path: at(`../${name}.png`) });

async function search(words: string): Promise<void> {
  await run('Iconedge: Insert Icon');
  await page.waitForSelector('.quick-input-widget input[placeholder="Search icons"]');
  await page.keyboard.type(words, { delay: 60 });
  await shows('found.');
}

describe.skipIf(!existsSync(program))('the extension in VS Code', () => {
  beforeEach(async () => {
    await page?.close().catch(() => undefined);
    relay.answer = undefined;
    relay.asked.length = 0;
  });

  test('a search shows icons and licences, and Enter inserts at every caret; one undo reverts it', async () => {
    await open('a.html', '<p></p>\n<p></p>\n');
    expect(relay.asked).toEqual([]);
    await press('Control+Home');
    for (let n = 0; n < 3; n++) await press('ArrowRight');
    await run('Add Cursor Below');
    await search('home');
    expect(relay.searches.length).toBeLessThanOrEqual(2);
    expect(relay.searches.at(-1)).toMatchObject({
      url: expect.stringContaining('q=home&limit=50') as string,
      agent: expect.stringMatching(/^iconedge-vscode\/\d+\.\d+\.\d+$/) as string,
    });
    await page.waitForFunction(() =>
      [...document.querySelectorAll<HTMLElement>('.quick-input-list-icon')].some((e) =>
        e.style.backgroundImage.includes('data:image/svg'),
      ),
    );
    await shows('Apache-2.0');
    await press('Enter');
    const text = await saved('a.html', (t) => t.includes('<svg'));
    expect(text).toMatch(/^(<p><!-- \w+\/home: license [^\n]+ -->\n<svg .*<\/svg><\/p>\n){2}$/);
    await press('Control+z');
    expect(await saved('a.html', (t) => !t.includes('<svg'))).toBe('<p></p>\n<p></p>\n');
  });

  test('F2 asks for the form, and a non-commercial icon asks once', async () => {
    await open('a.txt', '\n');
    for (const again of [false, true]) {
      await search('disc');
      await shows('CC-BY-NC-4.0 (non-commercial)');
      await press('F2');
      await page.waitForSelector('.quick-input-widget [aria-label^="datauri"]');
      await page.keyboard.type('url');
      await press('Enter');
      if (!again) {
        await page.waitForSelector('.monaco-dialog-box');
        await shows('non-commercial use only');
        await press('Enter');
      }
      await shows('Inserted nc/disc');
    }
    const text = await saved('a.txt', (t) => t.split('svg').length === 3);
    expect(text).toMatch(/^\n(http:\/\/[^ ]+?\/nc\/disc\.svg){2}$/);
  });

  test.each([
    ['429', { status: 429, body: '{}', retry: '7' }, 'retry in 7 seconds'],
    ['500', { status: 500, body: 'x' }, 'status 500'],
    ['half a JSON', { status: 200, body: '{"results":[' }, 'invalid response'],
    ['HTML', { status: 200, body: '<!doctype html>' }, 'invalid response'],
  ])('after %s the last results stay, and nothing is inserted', async (_, fault, words) => {
    await open('a.txt', 'x\n');
    await search('home');
    const rows = () => page.$$eval('.quick-input-list .monaco-list-row', (all) => all.map((r) => r.textContent));
    const before = await rows();
    expect(before.length).toBeGreaterThan(0);
    relay.answer = (url) => (url.includes('/search') ? fault : undefined);
    await page.keyboard.type('s');
    await shows(words);
    expect(await rows()).toEqual(before);
    await press('Escape');
    expect(await saved('a.txt', () => true)).toBe('x\n');
  });

  test('names have icons beside them, unknown ones a warning with close names, and a mouse shows the credit', async () => {
    await open('a.md', '# mdi:home, mdi:hme, node:fs, 12:30\n');
    await page.waitForSelector('.squiggly-warning');
    expect(await page.$$eval('.squiggly-warning', (all) => all.length)).toBe(1);
    const icons = () =>
      page.evaluate(() =>
        [...document.querySelectorAll('.view-line span')]
          .map((e) => getComputedStyle(e, '::before').content)
          .filter((c) => c.includes('data:image/svg')),
      );
    expect(await icons()).toHaveLength(1);
    const word = await page.evaluateHandle(() =>
      [...document.querySelectorAll('.view-line span span')].find((e) => e.textContent!.includes('home'))!,
    );
    const box = (await word.asElement()!.boundingBox())!;
    await page.mouse.move(box.x + 60, box.y + 6, { steps: 5 });
    await page.waitForSelector('.monaco-hover img[src^="data:image/svg"]');
    await shows('License: Apache-2.0');
    await picture('window');
    await press('Escape');
    await press('Control+Home');
    await run('Go to Next Problem (Error, Warning, Info)');
    await shows('Icon mdi/hme was not found.');
    await press('Escape');
    await run('Quick Fix');
    await shows('Replace by mdi:home');
    await press('Enter');
    expect(await saved('a.md', (t) => !t.includes('hme'))).toBe('# mdi:home, mdi:home, node:fs, 12:30\n');
    expect(relay.asked.filter((a) => a.url.includes('/icon/mdi/hme'))).toHaveLength(1);
  });

  test('completion searches in the pack, and keeps what no letter of the text finds', async () => {
    await open('a.css', '\n');
    await run('Iconedge: Insert Icon'); // the editor starts its extensions a while after it has painted
    await page.waitForSelector('.quick-input-widget input[placeholder="Search icons"]');
    await press('Escape');
    await page.keyboard.type('"mdi:');
    await page.waitForSelector('.suggest-widget.visible .monaco-list-row.focused');
    expect(relay.searches).toEqual([]); // these are samples
    relay.answer = (url) => (url.includes('/search') ? { status: 200, body: synonym } : undefined);
    await page.keyboard.type('dwel', { delay: 60 });
    await shows('mdi:home');
    await shows('Apache-2.0');
    expect(relay.searches.length).toBeLessThanOrEqual(2);
    await press('Enter');
    expect(await saved('a.css', (t) => t.includes('home'))).toBe('\n"mdi:home"');
  });

  test('a folder can move neither the address nor the token', () => {
    expect(elsewhere.asked).toEqual([]);
    expect(relay.asked.every((a) => !a.token)).toBe(true);
  });

  test('the token is sent to the service alone', async () => {
    await open('a.txt', '\n');
    await run('Iconedge: Set License Token');
    await page.waitForSelector('.quick-input-widget input[type=password]:focus');
    await page.keyboard.type('iel_secret');
    await press('Enter');
    await search('square');
    expect(relay.searches.at(-1)!.token).toBe('Bearer iel_secret');
    expect(relay.asked.filter((a) => a.url.endsWith('.svg')).every((a) => !a.token)).toBe(true);
  });

  test('the caret in a name replaces it', async () => {
    await open('a.vue', '<i class="i-mdi-home">\n');
    await press('Control+Home');
    for (let n = 0; n < 15; n++) await press('ArrowRight');
    await run('Iconedge: Replace Icon');
    await shows('found.');
    await press('Control+a');
    await page.keyboard.type('square');
    await shows('mdi/square');
    await press('Enter');
    await shows('Inserted mdi/square');
    expect(await saved('a.vue', (t) => t.includes('square'))).toBe('<i class="i-mdi-square">\n');
  });
});
