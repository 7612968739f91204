// The site through edges: a shield, limits, tokens, purges, a lost origin; and in browsers that refuse the script or storage.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { HtmlValidate } from 'html-validate';
import { markup, start } from './serve.mjs';
import { close, open, site } from './shared.mjs';

const validator = new HtmlValidate(markup);

describe('through edges', () => {
  let mirror, origin, shield, edge;
  const behind = (before, ...flags) => start(['edge', '--origin', before.base, ...flags], /name list ready/);
  const purge = (of, body) => fetch(of.admin + '/purge', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  before(async () => {
    mirror = mkdtempSync(join(tmpdir(), 'iconedge-mirror-'));
    origin = await start(['origin', '--store', 'dir:' + join(site.dir, 'store'), '--mirror', mirror], /msg=ready/);
    shield = await behind(origin, '--limit', 'pages=off');
    edge = await behind(shield, '--require-token', '--limit', 'pages=100000/1m');
  });
  after(async () => {
    for (const process of [edge, shield, origin]) await process?.end();
    rmSync(mirror, { recursive: true, force: true, maxRetries: 5 });
  });

  test('pages and their errors are those of the origin, also behind a shield and with tokens required', async () => {
    const names = ['content-type', 'content-security-policy', 'referrer-policy', 'cross-origin-opener-policy', 'x-content-type-options'];
    for (const [path, status] of [['/', 200], ['/icon/mdi/home', 200], ['/search?q=home', 200], ['/icon/mdi/hom', 404], ['/search?page=x', 400]]) {
      const [want, got] = await Promise.all([origin, edge].map(async (of) => {
        const r = await fetch(of.base + path);
        return { status: r.status, fields: names.map((name) => r.headers.get(name)), body: await r.text() };
      }));
      assert.equal(got.status, status, path);
      assert.deepEqual(got, want, path);
      assert.match(got.fields[1], /^default-src 'none'/);
    }
    assert.equal((await fetch(edge.base + '/api/v1/search?q=home')).status, 401);
    assert.equal((await fetch(edge.base + '/-/bag/icons.zip?icons=mdi/home')).headers.get('content-disposition'), 'attachment; filename="icons.zip"');
  });
  test('hits, codings, conditions, HEAD, other methods', async () => {
    const ask = async (path, headers = {}, method = 'GET') => {
      const r = await fetch(edge.base + path, { method, headers });
      return { status: r.status, body: await r.text(), of: (name) => r.headers.get(name) };
    };
    await ask('/pack/lucide');
    const tags = new Set();
    for (const coding of ['br', 'gzip', 'identity']) {
      let r;
      do r = await ask('/pack/lucide', { 'Accept-Encoding': coding }); // codings are made in the background
      while ((r.of('content-encoding') ?? 'identity') !== coding);
      assert.match(r.of('cache-status'), /iconedge; hit/, coding);
      assert.match(r.of('etag'), /^"/);
      tags.add(r.of('etag'));
      const again = await ask('/pack/lucide', { 'Accept-Encoding': coding, 'If-None-Match': r.of('etag') });
      assert.equal(again.status, 304);
      assert.equal(again.of('etag'), r.of('etag'));
      const head = await ask('/pack/lucide', { 'Accept-Encoding': coding }, 'HEAD');
      assert.deepEqual([head.status, head.body, head.of('etag'), head.of('content-type')], [200, '', r.of('etag'), 'text/html; charset=utf-8']);
    }
    assert.equal(tags.size, 3);
    assert.match((await ask('/pack/lucide?utm_source=a&x=1')).of('cache-status'), /hit/);
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const r = await ask('/icon/mdi/home', {}, method);
      assert.equal(r.status, 405);
      assert.match(r.of('allow'), /GET, HEAD/);
    }
  });
  test('purges by surrogate keys reach pages', async () => {
    const status = async (path) => (await fetch(edge.base + path)).headers.get('cache-status').split(', ').at(-1);
    for (const [key, path, other] of [['icon/mdi/star', '/icon/mdi/star', '/icon/lucide/house'], ['pages', '/icon/lucide/house', null]]) {
      for (const page of [path, other]) if (page) await status(page);
      assert.match(await status(path), /hit/);
      assert.ok((await (await purge(edge, { surrogate_keys: [key] })).json()).purged > 0);
      assert.doesNotMatch(await status(path), /hit/, key);
      if (other) assert.match(await status(other), /hit/);
    }
  });
  test('a withdrawn icon has a 410 page behind a shield too, and comes back', async () => {
    const withdraw = (...args) => execFileSync(site.program, ['withdraw', '--store', 'dir:' + join(site.dir, 'store'), 'gpl/home', ...args], { stdio: 'ignore' });
    const status = async (want) => {
      for (let r; ;) if ((r = await fetch(edge.base + '/icon/gpl/home')).status === want) return r;
    };
    await status(200);
    withdraw();
    try {
      const r = await status(410);
      assert.equal(r.headers.get('cache-control'), 'no-store');
      assert.equal(r.headers.get('content-type'), 'text/html; charset=utf-8');
      const html = await r.text();
      assert.match(html, /<h1>Withdrawn<\/h1>[^]*The operator of this service has withdrawn/);
      assert.match(html, /name="q"/);
      const pack = await fetch(edge.base + '/pack/gpl');
      assert.doesNotMatch(await pack.text(), /href="\/icon\/gpl\/home"/);
    } finally {
      withdraw('--undo');
    }
    await status(200);
  });
  test('limits of pages are their own; --site off', async () => {
    const limited = await behind(origin, '--limit', 'pages=3/1m');
    for (const status of [200, 200, 200, 429]) {
      const r = await fetch(limited.base + '/search?q=home');
      assert.equal(r.status, status);
      if (status === 429) assert.ok(+r.headers.get('retry-after') > 0);
    }
    const [json, html] = await Promise.all([fetch(limited.base + '/'), fetch(limited.base + '/', { headers: { Accept: 'text/html' } })]);
    assert.deepEqual([json.status, json.headers.get('content-type'), html.status, html.headers.get('content-type')], [429, 'application/problem+json', 429, 'text/html; charset=utf-8']);
    const refused = await open('/search?q=star', { extraHTTPHeaders: { Accept: 'text/html' } }, undefined, limited.base); // as a browser asks for an address
    assert.match(await refused.getByRole('main').textContent(), /Too Many Requests.*Over the limit.*\d+ s/s);
    await refused.getByRole('heading', { level: 1 }).waitFor();
    assert.equal((await validator.validateString(await html.text())).errorCount, 0);
    await close(refused);
    assert.equal((await fetch(limited.base + '/api/v1/search?q=home')).headers.get('ratelimit').includes('"search";r=59'), true);
    assert.equal((await fetch(limited.base + '/mdi/home.svg')).status, 200);
    await limited.end();
    const closed = await behind(origin, '--site', 'off');
    for (const path of ['/', '/search?q=home', '/icon/mdi/home', '/sw.js']) assert.equal((await fetch(closed.base + path)).status, 404, path);
    assert.equal((await fetch(closed.base + '/mdi/home.svg')).status, 200);
    await closed.end();
  });
  test('without the origin stored pages are served, and a search that is not stored says so', async () => {
    const direct = await behind(origin);
    const page = await open('/', {}, undefined, direct.base);
    await page.goto(direct.base + '/search?q=home');
    await origin.end();
    await purge(direct, { surrogate_keys: ['pages'], soft: true }); // stale at once
    await page.goto(direct.base + '/');
    await page.getByTestId('icon-count').waitFor();
    await page.goto(direct.base + '/search?q=home');
    await page.getByRole('searchbox').press('End');
    await page.keyboard.type('x');
    await page.getByRole('status').filter({ hasText: 'has no results at the moment (50' }).waitFor();
    assert.equal(await page.getByTestId('results').getAttribute('data-query'), 'home');
    assert.equal((await fetch(direct.base + '/search?q=homex')).status >= 502, true);
    await close(page);
    await direct.end();
  });
});

describe('in browsers that refuse something', () => {
  test('when the script fails to load, the page is as without one', async () => {
    const page = await open('/icon/mdi/home', {}, (p) => p.route(/\/app\./, (route) => route.abort()));
    for (const name of ['Copy CDN address', 'Download PNG', 'Add to bag', /theme$/]) assert.equal(await page.getByRole('button', { name }).count(), 0, String(name));
    await page.getByRole('button', { name: 'Apply' }).waitFor();
    await page.getByRole('searchbox').fill('star');
    await page.keyboard.press('Enter');
    await page.locator('[data-testid=results][data-query=star]').waitFor();
    await close(page);
  });
  test('when storage is full, the bag lasts as long as the page', async () => {
    const page = await open('/icon/mdi/home', {}, (p) => p.addInitScript(() => (Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); })));
    await page.getByRole('button', { name: 'Add to bag' }).click();
    await page.getByRole('status').filter({ hasText: 'stores nothing' }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Add to bag' }).getAttribute('aria-pressed'), 'true');
    assert.match(await page.getByTestId('bag-link').textContent(), /1/);
    await page.getByRole('button', { name: 'Dark theme' }).click();
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
    assert.deepEqual(page.noise, []);
    await close(page);
  });
  test('when Cache Storage is refused, typing and pages work', async () => {
    const refuse = () => Object.defineProperty(globalThis, 'caches', { get() { throw new DOMException('refused', 'SecurityError'); } });
    const page = await open('/', { serviceWorkers: 'allow' }, (p) => p.addInitScript(refuse));
    await page.evaluate(() => navigator.serviceWorker.ready);
    await page.goto(site.base + '/search');
    await page.getByRole('searchbox').pressSequentially('star');
    await page.locator('[data-testid=results][data-query=star]').waitFor();
    await page.getByRole('status').filter({ hasText: 'results' }).waitFor({ state: 'attached' }); // the page would be stored then
    await page.locator('.grid a').first().click();
    await page.getByTestId('cdn-url').waitFor();
    assert.deepEqual(page.noise, []);
    await close(page);
  });
  test('Back finds the scroll position on a phone, after typing', async () => {
    const page = await open('/', { viewport: { width: 320, height: 640 } });
    await page.getByRole('searchbox').pressSequentially('arrow');
    await page.locator('[data-testid=results][data-query=arrow]').waitFor();
    const link = page.locator('.grid a').nth(54);
    await link.scrollIntoViewIfNeeded();
    const y = await page.evaluate(() => scrollY);
    await link.click();
    await page.waitForURL('**/icon/**');
    await page.goBack();
    await page.waitForFunction((want) => Math.abs(scrollY - want) <= 80, y);
    await close(page);
  });
});
