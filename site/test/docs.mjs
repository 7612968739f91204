// The documents of the repository on the site: every page of them, their search, and where they are not served.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { HtmlValidate } from 'html-validate';
import { markup, start } from './serve.mjs';
import { close, get, open, site } from './shared.mjs';

const validator = new HtmlValidate(markup);
const text = async (path) => (await get(path)).text();
const listed = async () => [...(await text('/docs/sitemap.xml')).matchAll(/<loc>([^<]+)<\/loc>/g)].map(([, address]) => address.replace(site.base, ''));

describe('documents', () => {
  test('each is valid, has one h1, headings in order and a canonical address; links and images work', async () => {
    const paths = await listed();
    assert.ok(paths.length > 50 && paths.includes('/docs/') && paths.includes('/docs/how-to/runbooks/EdgeDown'), paths.join(' '));
    const ids = new Map();
    const links = [];
    for (const path of paths) {
      const r = await get(path);
      assert.equal(r.status, 200, path);
      const html = await r.text();
      const report = await validator.validateString(html);
      assert.deepEqual(report.results.flatMap((r) => r.messages).map((m) => `${path} ${m.line}: ${m.ruleId} ${m.message}`), []);
      assert.ok(html.includes(`<link rel="canonical" href="${site.base}${path}">`), path);
      const levels = [...html.matchAll(/<h([1-6])/g)].map(([, level]) => +level);
      assert.equal(levels.filter((l) => l === 1).length, 1, path);
      levels.forEach((l, i) => assert.ok(l <= (levels[i - 1] ?? 0) + 1, path));
      ids.set(path, new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)));
      for (const [, address] of html.matchAll(/(?:href|src)="(\/docs\/[^"]*|#[^"]*)"/g)) links.push([path, address]);
    }
    const images = new Set();
    for (const [from, address] of links) {
      const to = new URL(address, site.base + from);
      const known = ids.get(to.pathname);
      if (/\.(svg|webp|png)$/.test(to.pathname)) images.add(to.pathname);
      else if (to.pathname !== '/docs/search') assert.ok(known && (!to.hash || known.has(decodeURIComponent(to.hash.slice(1)))), `${from} links to ${address}`);
    }
    assert.ok(images.size > 10);
    for (const path of images) {
      const r = await get(path);
      assert.equal(r.status, 200, path);
      assert.match(r.headers.get('content-type'), /^image\/(svg\+xml|webp|png)$/, path);
      assert.equal(r.headers.get('x-content-type-options'), 'nosniff');
    }
  });
  test('images are shown as large as they say, from the page\'s own host', async () => {
    const page = await open('/docs/how-to/plugins');
    for (const image of await page.locator('.text img').all()) {
      await image.scrollIntoViewIfNeeded();
      await page.waitForFunction((i) => i.complete && i.naturalWidth > 0, await image.elementHandle());
      assert.deepEqual(await image.evaluate((i) => [i.naturalWidth, i.naturalHeight]), await image.evaluate((i) => [+i.getAttribute('width'), +i.getAttribute('height')]));
    }
    assert.deepEqual(page.noise, []);
    await close(page);
  });
  test('every page leads to them; a question, asked without a script, leads to its answer', async () => {
    const page = await open('/icon/mdi/home', { javaScriptEnabled: false });
    await page.getByRole('contentinfo').getByRole('link', { name: 'Documentation' }).click();
    await page.getByRole('heading', { level: 1, name: 'Documentation' }).waitFor();
    await page.getByRole('searchbox', { name: 'Search the documentation' }).fill('How do I roll back?');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: /Documents about/ }).waitFor();
    assert.equal(await page.locator('meta[name=robots][content=noindex]').count(), 1);
    await page.locator('.found a').first().click();
    await page.getByRole('heading', { level: 1, name: 'Publish and roll back' }).waitFor();
    await close(page);
  });
  test('searches: nothing found, markup, wrong and equal addresses', async () => {
    assert.match(await text('/docs/search?q=zzqqzz'), /No document has these words/);
    assert.doesNotMatch(await text('/docs/search?q=' + encodeURIComponent('<script>alert(1)</script>')), /<script>alert/);
    for (const [path, status] of [
      ['/docs', 200], ['/docs/search', 200], ['/docs/search?q=', 200], ['/docs/search?q=a&q=b', 400], ['/docs/search?q=' + 'a'.repeat(201), 400], ['/docs/search?q=%ff', 400],
      ['/docs/how-to/none', 404], ['/docs/how-to/runbooks/none', 404], ['/docs/how-to/images/none.webp', 404], ['/docs/how-to/takedown.md', 404],
    ]) assert.equal((await get(path)).status, status, path);
    assert.match(await text('/docs/how-to/takedowns'), /Close names:[^]*href="\/docs\/how-to\/takedown"/);
    await get('/docs/search?q=edge%20down');
    assert.match((await get('/docs/search?utm=1&q=edgeDown%20')).headers.get('cache-status'), /hit/);
    assert.match((await get('/docs/')).headers.get('ratelimit-policy'), /^"pages"/);
    assert.ok((await text('/robots.txt')).includes(`Sitemap: ${site.base}/docs/sitemap.xml`));
  });
  test('a pack called docs keeps its icons', async () => {
    const r = await get('/docs/home.svg');
    assert.deepEqual([r.status, r.headers.get('content-type')], [200, 'image/svg+xml']);
    for (const path of ['/icon/docs/home', '/pack/docs', '/sitemap/docs.xml', '/docs.json?icons=home']) assert.equal((await get(path)).status, 200, path);
  });
  test('a document that was read opens offline', async () => {
    const page = await open('/docs/how-to/takedown', { serviceWorkers: 'allow' });
    await page.evaluate(() => navigator.serviceWorker.ready);
    await page.waitForFunction(() => navigator.serviceWorker.controller);
    await page.reload({ waitUntil: 'networkidle' });
    await page.context().setOffline(true);
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Take an icon down' }).waitFor();
    assert.equal(await page.locator('.text').evaluate((e) => getComputedStyle(e.querySelector('ul, ol')).paddingLeft !== '0px'), true, 'the style sheet was stored too');
    await close(page);
  });
  test('without a site there are none; a proxy forwards them', async () => {
    const off = await start(['edge', '--origin', site.base, '--site', 'off'], /listening/);
    for (const path of ['/docs', '/docs/', '/docs/search?q=a', '/docs/start/edge', '/docs/how-to/runbooks/EdgeDown']) assert.equal((await fetch(off.base + path)).status, 404, path);
    await off.end();
    const proxy = await start(['edge', '--origin', site.base, '--proxy-all'], /listening/);
    for (const path of ['/docs', '/docs/', '/docs/search?q=a']) {
      const r = await fetch(proxy.base + path);
      assert.equal(r.status, 200, path);
      const metrics = await (await fetch(proxy.admin + '/metrics')).text();
      assert.match(metrics, /iconedge_edge_requests_total\{[^}]*route="forwarded"[^}]*\} [1-9]/);
    }
    await proxy.end();
  });
});
