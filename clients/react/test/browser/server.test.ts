import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'puppeteer-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { bundle, chromium, fakeCDN, open, reacts, site } from './harness';

const square = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><path d="M0 0h24v24H0z"/></svg>';

describe.each(reacts)('React %s, on a server', (react) => {
  let browser: Browser;
  let folder: string;
  let server: typeof import('./ssr');
  beforeAll(async () => {
    browser = await chromium();
    folder = await mkdtemp(join(tmpdir(), 'iconedge-react-'));
    const text = await bundle('test/browser/ssr.ts', react, { format: 'cjs', platform: 'node' });
    await writeFile(join(folder, 'ssr.cjs'), text);
    server = (await import(join(folder, 'ssr.cjs'))) as typeof import('./ssr');
  });
  afterAll(async () => {
    await browser.close();
    await rm(folder, { recursive: true });
  });

  test('renders the box, with its label and class, the same each time, without a request or a warning', () => {
    const spoken = [vi.spyOn(console, 'error'), vi.spyOn(console, 'warn')];
    const asked = vi.spyOn(globalThis, 'fetch');
    const first = server.page('http://127.0.0.1:1');
    expect(first).toBe(server.page('http://127.0.0.1:1'));
    expect(first).toContain('<svg width="48" height="48" aria-hidden="true" class="c"></svg>');
    expect(first).toMatch(
      /<svg width="1em" height="1em" role="img"[^>]*><title>&lt;b&gt; &amp; &quot;c&quot;<\/title><\/svg>/,
    );
    expect(first).toContain('color="&quot;&gt;&lt;script&gt;"');
    expect(first).not.toContain('style=');
    for (const spy of [...spoken, asked]) expect(spy).not.toHaveBeenCalled();
    vi.restoreAllMocks();
  });

  test('hydrates what it rendered, draws, and moves nothing', async () => {
    let answer = () => {};
    const cdn = await fakeCDN({ '/a/b.svg': (response) => (answer = () => response.end(square)) });
    const body = `<div id="root">${server.page(cdn.address)}</div><p>below</p>`;
    const pages = await site(await bundle('test/browser/hydrate.ts', react), body);
    const { page, said } = await open(browser, pages.address);
    await page.evaluate((base) => globalThis.hydrate(base), cdn.address);
    await expect.poll(() => cdn.asked.length).toBe(1);
    answer();
    await page.waitForFunction(() => document.querySelectorAll('svg path').length === 3);
    expect(await page.evaluate(() => [reports, shifts, globalThis.recovered])).toEqual([[], 0, []]);
    expect(said).toEqual([]);
    await page.close();
    for (const one of [cdn, pages]) one.close();
  });
});

test.each(reacts)('React %s hydrates the box also when the icon is in memory already', async (react) => {
  const browser = await chromium();
  const cdn = await fakeCDN({ '/a/b.svg': square });
  const box = '<svg width="48" height="48" aria-hidden="true" class="c"></svg>';
  const pages = await site(
    await bundle('test/browser/kit.ts', react),
    `<div id="other"></div><div id="root">${box}</div>`,
  );
  const { page, said } = await open(browser, pages.address);
  const icon = { pack: 'a', name: 'b', size: 48, className: 'c' };
  await page.evaluate(
    (base, icon) => {
      kit.configureIcons({ base });
      kit.createRoot(document.getElementById('other')!).render(kit.h(kit.Icon, icon));
    },
    cdn.address,
    icon,
  );
  await page.waitForSelector('#other path');
  await page.evaluate((icon) => void kit.hydrateRoot(document.getElementById('root')!, kit.h(kit.Icon, icon)), icon);
  await page.waitForSelector('#root path');
  expect(said).toEqual([]);
  await browser.close();
  for (const one of [cdn, pages]) one.close();
});

test('in production nothing is said', async () => {
  const browser = await chromium();
  const cdn = await fakeCDN({});
  const script = await bundle('test/browser/kit.ts', '19', { define: { 'process.env.NODE_ENV': '"production"' } });
  const pages = await site(script);
  const { page, said } = await open(browser, pages.address);
  await page.evaluate((base) => {
    const root = kit.createRoot(document.getElementById('root')!);
    const icon = kit.h(kit.Icon, { pack: 'a', name: 'none', fallback: kit.h('b') });
    kit.flushSync(() => root.render(icon));
    kit.configureIcons({ base });
  }, cdn.address);
  await page.waitForSelector('b');
  expect(said).toEqual([]);
  await browser.close();
  for (const one of [cdn, pages]) one.close();
});
