// The page of the plugins for Figma and Penpot in a real Chromium, with real keys, the service of the program in
// ICONEDGE, and the plugin's code beside it in a fake host.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import axe from 'axe-core';
import { launch, type Browser, type Frame, type Page } from 'puppeteer-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { Relay } from '../../core/test/relay';
import { Figma } from '../../figma/test/fake';
import { Host } from '../../penpot/test/fake';
import penpotManifest from '../../penpot/manifest.json';
import { design } from '../build.mjs';
import { run } from './strict';

declare module 'vitest' {
  interface ProvidedContext {
    edge: string;
  }
}

/** What both fake hosts have in common. */
interface Fake {
  posted: { type: string; [name: string]: unknown }[];
  received: unknown[];
  closed: boolean;
  onPost: ((m: unknown) => void) | undefined;
  stored: Map<string, unknown>;
  names(): string[];
  send(m: unknown): void;
  select(name: string): void;
}

async function figma(): Promise<Fake> {
  const host = new Figma();
  await run('figma/code.ts', { figma: host.api, __html__: '' });
  const received: unknown[] = [];
  return Object.assign(host, {
    received,
    names: () => host.page.nodes.map((n) => n.name),
    send: (m: { pluginMessage: unknown }) => {
      received.push(m.pluginMessage);
      void host.onmessage(m.pluginMessage);
    },
    select: (name: string) => host.select(...host.page.nodes.filter((n) => n.name === name)),
  });
}

async function penpot(): Promise<Fake> {
  const host = new Host(penpotManifest.permissions);
  await run('penpot/plugin.ts', { penpot: host.api });
  const { send } = host;
  const received: unknown[] = [];
  return Object.assign(host, {
    received,
    names: () => host.root.nodes.map((n) => n.name),
    send: (m: unknown) => {
      received.push(m);
      send(m);
    },
    select: (name: string) => void (host.selection = host.root.nodes.filter((n) => n.name === name)),
  });
}

const program = execFileSync('sh', ['-c', 'command -v chromium chromium-browser google-chrome | head -1']);
const hosts = { figma, penpot };
const out = mkdtempSync(join(tmpdir(), 'iconedge-design-'));
let browser: Browser;
let relay: Relay;
let server: Server;
let at: string;

/** The frames as the hosts make them: Figma's has no origin, and reaches only what the manifest allows. */
function frameOf(name: string): { html: string; csp: string } {
  if (name === 'penpot') return { html: `<iframe src="/penpot/ui.html"></iframe>`, csp: '' };
  const manifest = JSON.parse(readFileSync(`${out}/figma/manifest.json`, 'utf8')) as {
    networkAccess: { allowedDomains: string[] };
  };
  const page = readFileSync(`${out}/figma/ui.html`, 'utf8').replaceAll('&', '&amp;').replaceAll('"', '&quot;');
  const allowed = manifest.networkAccess.allowedDomains.join(' ');
  const csp = `default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: ${allowed}; connect-src ${allowed}`;
  return { html: `<iframe sandbox="allow-scripts allow-forms" srcdoc="${page}"></iframe>`, csp };
}

beforeAll(async () => {
  relay = new Relay(inject('edge'));
  await relay.start();
  for (const host of ['figma', 'penpot'] as const)
    await design(host, { out: `${out}/${host}`, version: '1.2.3', api: relay.url, cdn: relay.url });
  server = createServer((request, response) => {
    if (request.url === '/penpot/ui.html') {
      response.setHeader('Content-Type', 'text/html; charset=utf-8');
      return void response.end(readFileSync(`${out}/penpot/ui.html`));
    }
    const { html, csp } = frameOf(request.url!.slice(1));
    response.setHeader('Content-Type', 'text/html; charset=utf-8');
    if (csp) response.setHeader('Content-Security-Policy', csp);
    const style = 'body{margin:0}iframe{border:0;width:400px;height:640px}';
    response.end(`<!doctype html><html lang="en"><title>Host</title><style>${style}</style>${html}`);
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  browser = await launch({
    executablePath: program.toString().trim(),
    pipe: true,
    args: ['--no-sandbox', '--lang=en'],
  });
}, 60_000);
afterAll(async () => {
  await browser?.close();
  relay.stop();
  server.close();
  rmSync(out, { recursive: true, force: true });
});

describe.each(['figma', 'penpot'] as const)('%s', (name) => {
  let page: Page;
  let ui: Frame;
  let host: Fake;

  beforeEach(async () => {
    relay.answer = undefined;
    host = await hosts[name]();
    page = await browser.newPage();
    await page.setViewport({ width: 400, height: 640 });
    host.onPost = (m) =>
      void page.evaluate((data) => frames[0]!.postMessage(data, '*'), name === 'figma' ? { pluginMessage: m } : m);
    await page.exposeFunction('toCode', (m: never) => host.send(m));
    await page.evaluateOnNewDocument(() => {
      if (parent === window)
        addEventListener('message', (e) => (window as unknown as { toCode(m: unknown): void }).toCode(e.data));
    });
    await page.goto(`${at}/${name}`);
    ui = page.frames()[1]!;
    await ui.waitForSelector('#q:focus');
    await ui.waitForFunction(() => document.querySelectorAll('#style option').length === 2);
    relay.asked.length = 0;
  });
  afterEach(() => page.close());

  const status = (words: string) =>
    ui.waitForFunction((w) => document.getElementById('status')!.textContent!.includes(w), {}, words);
  const search = async (text: string) => {
    await ui.type('#q', text, { delay: 60 });
    await status('found');
  };
  const press = async (key: 'Enter' | 'Tab' | 'Escape' | 'ArrowDown', shift = false) => {
    if (shift) await page.keyboard.down('Shift');
    await page.keyboard.press(key);
    if (shift) await page.keyboard.up('Shift');
  };
  const insertion = () => host.posted.filter((m) => m.type === 'inserted').length;

  test('typing searches once, and Enter inserts with licence and credit', async () => {
    expect(relay.asked).toEqual([]);
    await search('home');
    expect(relay.searches.map((s) => s.url)).toEqual(['/api/v1/search?q=home&limit=50']);
    await ui.waitForFunction(
      () =>
        [...document.images].every((i) => i.src.startsWith('data:') && i.naturalWidth > 0) && document.images.length,
    );
    const [icon, words] = await ui.$eval('[role=option][aria-selected=true]', (o) => [
      (o as HTMLElement).dataset.icon!,
      o.textContent!,
    ]);
    expect(words).toMatch(/MIT|Apache|ISC|CC/);
    if (process.env.ICONEDGE_PICTURES)
      await page.screenshot({
        path: new URL(`../../${name}/window.png`, import.meta.url).pathname as `${string}.png`,
        clip: { x: 0, y: 0, width: 400, height: 330 },
      });
    await press('Enter');
    await status('Inserted ' + icon);
    expect(await ui.$eval('#status', (s) => s.textContent)).toMatch(/, (MIT|Apache-2.0|ISC): ./);
    expect(host.names()).toEqual([icon]);
    expect(host.received.at(-1)).toEqual({
      type: 'insert',
      pack: icon!.split('/')[0],
      name: 'home',
      svg: expect.stringMatching(/^<svg /) as string,
      credit: expect.stringMatching(/^license .*; attribution: ./) as string,
      size: 24,
      color: '#000000',
    });
  });

  test('axe finds nothing, in light and dark, with each dialog', async () => {
    const dialogs: [string, string][] = [
      ['#q', 'main'],
      ['#copy', '#forms[open]'],
      ['#credits', '#list[open]'],
      ['#options', '#settings[open]'],
    ];
    await search('bar'); // more than fit
    await ui.evaluate(axe.source);
    for (const value of ['light', 'dark']) {
      // Figma marks its theme with a class; Penpot sends it.
      await ui.evaluate((theme) => (document.documentElement.className = 'figma-' + theme), value);
      await page.evaluate((theme) => frames[0]!.postMessage({ type: 'theme', theme }, '*'), value);
      await ui.waitForFunction((v) => getComputedStyle(document.documentElement).colorScheme === v, {}, value);
      for (const [button, open] of dialogs) {
        await ui.click(button);
        await ui.waitForSelector(open);
        const found = await ui.evaluate(async () =>
          (await (globalThis as unknown as { axe: typeof axe }).axe.run()).violations.map(
            (v) => v.id + ': ' + v.nodes.map((n) => n.html).join(),
          ),
        );
        expect(found, `${value} ${open}`).toEqual([]);
        if (open !== 'main') await press('Escape');
      }
    }
  });

  test('the keyboard alone chooses icon, colour, style and form, reads the credits, and closes', async () => {
    await search('bar');
    await press('ArrowDown');
    const chosen = await ui.$eval(
      '#q',
      (q) => document.getElementById(q.getAttribute('aria-activedescendant')!)!.dataset.icon,
    );
    expect(chosen).toBe(await ui.$eval('[role=option]:nth-child(2)', (o) => (o as HTMLElement).dataset.icon));
    await press('Enter', true);
    await ui.waitForSelector('#forms[open] button:focus');
    for (let i = 0; i < 5; i++) await press('Tab');
    await press('Enter'); // name
    await status('Copied ' + chosen);
    expect(await ui.$eval('#q:focus', () => true)).toBe(true);
    await press('Tab');
    await page.keyboard.type('#0000ff');
    await press('Tab');
    await page.keyboard.type('40');
    await press('Enter');
    await status('Inserted ' + chosen);
    await press('Tab');
    await press('ArrowDown'); // style Brand
    for (let i = 0; i < 2; i++) await press('Tab');
    await press('Enter'); // Insert
    await expect.poll(insertion).toBe(2);
    for (let i = 0; i < 2; i++) await press('Tab');
    await press('Enter'); // Credits
    await ui.waitForSelector('#list[open] textarea:focus');
    expect(await ui.$eval('#list-text', (t) => (t as HTMLTextAreaElement).value)).toMatch(`${chosen}: license `);
    await press('Escape');
    await ui.waitForFunction(() => !document.querySelector('dialog[open]'));
    expect(host.closed).toBe(false);
    await press('Escape');
    await expect.poll(() => host.closed).toBe(true);
  });

  test('a second icon replaces the selection, unless the user keeps it', async () => {
    await search('home');
    await press('Enter');
    await expect.poll(insertion).toBe(1);
    await press('Enter');
    await expect.poll(insertion).toBe(2);
    expect(host.names()).toHaveLength(1);
    await ui.click('#replace');
    await ui.focus('#q');
    await press('Enter');
    await expect.poll(insertion).toBe(3);
    expect(host.names()).toHaveLength(2);
  });

  test('a non-commercial icon asks once a session', async () => {
    await search('disc');
    expect(await ui.$eval('[role=option]', (o) => o.textContent)).toContain('non-commercial');
    await press('Enter');
    await ui.waitForSelector('#confirm[open] button:focus');
    await press('Escape');
    await status('Nothing was copied or inserted');
    expect(host.names()).toEqual([]);
    await press('Enter');
    await ui.waitForSelector('#confirm[open] button:focus');
    await press('Enter');
    await status('Inserted nc/disc');
    await press('Enter');
    await expect.poll(insertion).toBe(2);
  });

  test.each([
    ['429', { status: 429, body: '{}', retry: '7' }, 'retry in 7 seconds'],
    ['500', { status: 500, body: 'x' }, 'status 500'],
    ['half a JSON', { status: 200, body: '{"results":[' }, 'invalid response'],
    ['HTML', { status: 200, body: '<!doctype html>' }, 'invalid response'],
  ])('after %s the results stay, and nothing is inserted', async (_, fault, words) => {
    await search('home');
    const before = await ui.$$eval('[role=option]', (o) => o.length);
    relay.answer = (url) => (/search|api.*icon/.test(url) ? fault : undefined);
    await ui.type('#q', 's');
    await status(words);
    expect(await ui.$$eval('[role=option]', (o) => o.length)).toBe(before);
    await press('Enter');
    await status(words);
    expect(host.names()).toEqual([]);
    relay.answer = undefined;
  });

  test('an icon with a script is neither shown nor inserted', async () => {
    const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>parent.postMessage(1)</script></svg>';
    relay.answer = (url) => {
      if (url.includes('.svg')) return { status: 200, body: svg };
      const icon = { svg, license: 'MIT', metadata: { attribution: 'A', commercial_use: true } };
      return url.includes('/icon/') ? { status: 200, body: JSON.stringify(icon) } : undefined;
    };
    await search('home');
    await press('Enter');
    await status('not safe');
    expect(await ui.$$eval('[role=option] img', (all) => all.every((i) => !(i as HTMLImageElement).src))).toBe(true);
    expect(host.names()).toEqual([]);
  });

  test('the token goes to the API alone; the host stores it for its origin', async () => {
    await ui.click('#options');
    await ui.type('#token', 'iel_secret');
    await press('Enter');
    await status('settings are saved');
    await search('home');
    expect(relay.searches.at(-1)!.token).toBe('Bearer iel_secret');
    expect(relay.asked.filter((a) => a.url.endsWith('.svg')).every((a) => !a.token)).toBe(true);
    expect(JSON.stringify([...host.stored])).toContain('iel_secret');
    if (name === 'penpot') {
      await ui.click('#options');
      await ui.$eval('#baseUrl', (e) => ((e as HTMLInputElement).value = 'http://localhost:1'));
      await ui.click('#form [type=submit]');
    } else {
      expect(await ui.$('#baseUrl')).toBeNull();
      await ui.click('#options');
      await ui.click('#forget');
    }
    await expect.poll(() => JSON.stringify([...host.stored])).not.toContain('iel_secret');
  });
});
