// The contract of the site, in a real browser over a published library.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, test } from 'node:test';
import { brotliDecompressSync } from 'node:zlib';
import { request } from 'node:http';
import { HtmlValidate } from 'html-validate';
import { big, hostile } from './library.mjs';
import { longest, markup } from './serve.mjs';
import { close, get, open, site } from './shared.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const pages = {
  home: '/', results: '/search?q=home', nothing: '/search?q=qqqzzz', search: '/search', packs: '/packs', pack: '/pack/mdi', icon: '/icon/mdi/home', noncommercial: '/icon/nc/home', framed: '/icon/mdi/home?background=fff&padding=4&radius=6', colours: '/icon/colors/home',
  bag: '/bag?icons=mdi/home,nc/home', empty: '/bag', missing: '/icon/mdi/hom', lost: '/-/not-found?q=mdi:home', bad: '/search?page=x', hostile: '/pack/hostile-0', hostileIcon: '/icon/hostile-2/bomb',
  docs: '/docs/', document: '/docs/how-to/site', tables: '/docs/reference/performance', code: '/docs/how-to/sites', found: '/docs/search?q=certificate', notFound: '/docs/search?q=qqqzzz', noDocument: '/docs/how-to/nothing',
};

describe('responses', () => {
  test('pages have the fields of the contract', async () => {
    for (const path of Object.values(pages)) {
      const r = await get(path);
      const h = r.headers;
      assert.equal(h.get('content-type'), 'text/html; charset=utf-8', path);
      assert.match(h.get('content-security-policy'), /^default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:/, path);
      assert.doesNotMatch(h.get('content-security-policy'), /unsafe|nonce/);
      for (const [name, value] of [['x-content-type-options', 'nosniff'], ['referrer-policy', 'strict-origin-when-cross-origin'], ['cross-origin-opener-policy', 'same-origin'], ['set-cookie', null]]) assert.equal(h.get(name), value, `${path} ${name}`);
      if (r.status === 200) {
        assert.equal(h.get('cache-control'), 'public, max-age=60, stale-while-revalidate=3600, stale-if-error=86400', path);
        const again = await get(path);
        assert.match(again.headers.get('cache-status'), /hit/, path);
        assert.equal((await get(path, { headers: { 'if-none-match': again.headers.get('etag') } })).status, 304, path);
        assert.match(h.get('surrogate-key'), /^pages /);
      }
    }
  });
  test('statuses', async () => {
    for (const [path, status] of [
      ['/icon/mdi/none', 404], ['/icon/none/home', 404], ['/icon/MDI/home', 404], ['/pack/none', 404], ['/pack/mdi?page=99', 404], ['/search?q=home&page=999', 404], ['/search?q=home&pack=none', 404],
      ['/search?q=home&page=0', 400], ['/search?q=home&stroke=2', 400], ['/search?q=home&stroke=true', 200], ['/search?q=home&page=x', 400], ['/search?q=home&q=a', 400], ['/search?q=' + 'a'.repeat(201), 400], ['/search?q=%ff', 400], ['/search?commercial=maybe', 400], ['/search?pack=A', 400],
      ['/icon/mdi/home?color=zz', 400], ['/icon/mdi/home?size=0', 400], ['/icon/mdi/home?rotate=7', 400], ['/icon/mdi/home?flip=x', 400], ['/icon/mdi/home?background=x', 400], ['/icon/mdi/home?padding=12', 400], ['/icon/mdi/home?padding=12&size=25', 200], ['/icon/mdi/home?padding=24&size=48', 400], ['/icon/mdi/narrow?padding=11', 400], ['/icon/mdi/home?radius=x', 400], ['/bag?icons=x', 400],
      ['/bag?icons=a/' + Array.from({ length: 501 }, (_, i) => 'b' + i).join(','), 400], ['/search?q=' + 'a'.repeat(8000), 400], ['/search?q=' + 'a'.repeat(9000), 414],
      ['/icon/mdi/home?color=&size=&rotate=&flip=', 200], ['/search?q=', 200], ['/search?utm=1', 200], ['/bag?icons=' + Array.from({ length: 200 }, (_, i) => 'big/b-' + i).join(','), 200], ['/bag?icons=big/' + Array.from({ length: 500 }, (_, i) => 'b-' + i).join(','), 200], ['/-/bag/icons.zip?icons=big/' + Array.from({ length: 500 }, (_, i) => 'b-' + i).join(','), 200],
      ['/-/pack/none/svg.zip', 404], ['/-/pack/mdi/none.zip', 404], ['/-/pack/mdi/svg', 404], ['/-/pack/MDI/svg.zip', 404],
      ['/search/home.svg', 200], ['/icon/home.svg', 200], ['/api/home.svg', 200], ['/pack/home.svg', 200], ['/packs/home.svg', 200], ['/bag/home.svg', 200], ['/sitemap/home.svg', 200], ['/site/home.svg', 200],
      ['/pack/search', 200], ['/icon/icon/home', 200], ['/icon/api/home', 200], ['/sitemap/none.xml', 404], ['/nothing', 404],
    ]) {
      const r = await get(path);
      const body = await r.text();
      assert.equal(r.status, status, path.slice(0, 60));
      if (status >= 400 && status !== 414 && !/\.xml|nothing/.test(path)) {
        assert.match(body, /<h1>/, path.slice(0, 60));
        assert.match(body, /name="q"/);
        assert.ok(+/max-age=(\d+)/.exec(r.headers.get('cache-control'))[1] <= 60);
        assert.doesNotMatch(body, /none\b.*page=99|zz"/);
      }
    }
    assert.match(await (await get('/icon/mdi/hom')).text(), /href="\/icon\/mdi\/home"/);
    const wrong = await get('/', { method: 'POST' });
    assert.equal(wrong.status, 405);
    assert.match(wrong.headers.get('allow'), /GET, HEAD/);
    assert.equal((await (await get('/search?q=Home%20&utm_source=a')).headers).get('cache-status').includes('hit'), true);
  });
  test('the class pages has a limit of its own', async () => {
    const r = await get('/');
    assert.match(r.headers.get('ratelimit-policy'), /"pages";q=100000/);
  });
  test('files', async () => {
    const home = await (await get('/')).text();
    for (const address of new Set(home.match(/\/-\/site\/[^"]+/g))) {
      const r = await get(address);
      assert.equal(r.status, 200, address);
      assert.match(r.headers.get('cache-control'), /max-age=31536000, immutable/);
      const other = await get(address.replace(/\.[0-9a-f]{10}\./, '.0123456789.'));
      assert.equal(other.status, 200, 'a page that a cache has stored names an earlier file');
      assert.doesNotMatch(other.headers.get('cache-control'), /immutable/);
    }
    assert.match(await (await get('/robots.txt')).text(), new RegExp(`Disallow: /search\nDisallow: /bag\nDisallow: /-/bag\nDisallow: /-/pack\n\nSitemap: ${site.base}/sitemap.xml`));
    const index = await (await get('/sitemap.xml')).text();
    assert.match(index, new RegExp(`<loc>${site.base}/sitemap/mdi.xml</loc>`));
    const map = await (await get('/sitemap/mdi.xml')).text();
    assert.match(map, new RegExp(`<loc>${site.base}/icon/mdi/home</loc>`));
    assert.doesNotMatch(map, /icon\/mdi\/house</);
    assert.equal((await (await get('/sitemap/big.xml')).text()).match(/<url>/g).length, big + 1);
    assert.ok(+/max-age=(\d+)/.exec((await get('/sw.js')).headers.get('cache-control'))[1] <= 3600);
    assert.equal(JSON.parse(await (await get('/manifest.webmanifest')).text()).start_url, '/');
    assert.equal((await get('/opensearch.xml')).headers.get('content-type'), 'application/opensearchdescription+xml');
    for (const [name, type, begins] of [['favicon.svg', 'image/svg+xml', '<svg'], ['favicon.ico', 'image/x-icon', '\0\0\x01\0\x03'], ['apple-touch-icon.png', 'image/png', '\x89PNG']]) {
      const response = await get('/' + name);
      assert.equal(response.headers.get('content-type'), type);
      assert.ok(Buffer.from(await response.arrayBuffer()).toString('latin1').startsWith(begins), name);
    }
  });
  test('budgets, on the wire with br', async () => {
    const size = (path) => new Promise((ok) => request(site.base + path, { headers: { 'accept-encoding': 'br' } }, (r) => {
      let n = 0;
      const parts = [];
      r.on('data', (d) => ((n += d.length), parts.push(d))).on('end', () => ok({ n, text: r.headers['content-encoding'] === 'br' ? brotliDecompressSync(Buffer.concat(parts)).toString() : Buffer.concat(parts).toString() }));
    }).end());
    const home = await size('/');
    const files = {};
    for (const address of new Set(home.text.match(/\/-\/site\/[a-z]+\.[0-9a-f]+\.(js|css)/g))) files[address.split('/')[3].split('.')[0]] = (await size(address)).n;
    const sum = (...n) => n.reduce((a, b) => a + b, 0);
    const icon = (await size('/icon/mdi/home')).n;
    const long = (await size('/icon/colors/long')).n;
    const dense = await Promise.all(['dense', 'denser'].map(async (name) => (await size('/icon/colors/' + name)).n)); // without similar icons, which weigh up to 1.2 kB
    for (const [what, n, most] of [
      ['script', sum(files.app, files.theme), 8000], ['style', files.style, 6000], ['worker', (await size('/sw.js')).n, 3000], ['home', home.n, 14000], ['home, everything', sum(home.n, ...Object.values(files)), 25000],
      ['icon', icon, 7000], ['a long icon', long, 7000], ['a dense icon', Math.max(...dense), 5200], ['icon and style', icon + files.style, 10000], ['results', (await size('/search?q=home')).n, 9000], ['search', (await size('/search')).n, 9000], ['pack', (await size('/pack/big')).n, 14000],
    ]) assert.ok(n <= most, `${what}: ${n} bytes, at most ${most}`);
  });
  test('each icon of a pack is on exactly one page', async () => {
    const seen = new Map();
    let next = '/pack/big';
    let count = 0;
    while (next) {
      const html = await (await get(next)).text();
      const list = html.match(/href="\/icon\/big\/[^"]+"/g);
      assert.ok(list.length <= 200);
      for (const a of list) seen.set(a, (seen.get(a) ?? 0) + 1);
      next = /<a rel="next" href="([^"]+)"/.exec(html)?.[1].replaceAll('&amp;', '&');
      count++;
    }
    assert.equal(count, Math.ceil(big / 200));
    assert.equal(seen.size, big);
    assert.ok([...seen.values()].every((n) => n === 1));
  });
  test('valid HTML', async () => {
    const validator = new HtmlValidate(markup);
    for (const [name, path] of Object.entries(pages)) {
      const report = await validator.validateString(await (await get(path)).text());
      assert.deepEqual(report.results.flatMap((r) => r.messages).map((m) => `${name} ${m.line}: ${m.ruleId} ${m.message}`), []);
    }
  });
  test('titles, canonical addresses, OpenGraph', async () => {
    const titles = new Set();
    for (const [name, path] of Object.entries(pages)) {
      const html = await (await get(path, { headers: { host: 'evil.example' } })).text();
      const title = /<title>(.*?)<\/title>/s.exec(html)[1];
      if (!['bag', 'empty', 'noncommercial', 'framed', 'bad', 'missing', 'lost', 'noDocument'].includes(name)) assert.ok(!titles.has(title), title);
      titles.add(title);
      const canonical = /rel="canonical" href="([^"]+)"/.exec(html)?.[1];
      const noindex = /name="robots" content="noindex"/.test(html);
      assert.equal(noindex, ['results', 'nothing', 'search', 'bag', 'empty', 'missing', 'lost', 'bad', 'found', 'notFound', 'noDocument'].includes(name), name);
      assert.notEqual(!!canonical, noindex, name);
      if (canonical) assert.ok(canonical.startsWith(site.base + '/'), canonical);
      for (const p of ['title', 'description', 'type', 'url', 'image', 'image:type', 'image:width', 'image:height', 'image:alt']) assert.match(html, new RegExp(`property="og:${p}" content="[^"]`), `${name} og:${p}`);
      assert.match(html, /name="twitter:card" content="summary_large_image"/, name);
      assert.doesNotMatch(html, /evil\.example/);
      assert.doesNotMatch(html, /<[^>]+\son[a-z]+="|<style|<[^>]+\sstyle="/i, name);
      assert.equal(html.match(/<h1[ >]/g).length, 1);
    }
    assert.match(await (await get('/icon/mdi/house')).text(), new RegExp(`rel="canonical" href="${site.base}/icon/mdi/home"`));
    const card = await get(/og:image" content="([^"]+)"/.exec(await (await get('/')).text())[1].replace(site.base, ''));
    const png = Buffer.from(await card.arrayBuffer());
    assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20)], [1200, 630]);
  });
});

describe('every page', () => {
  test('axe finds nothing, and nothing in the colours of the dark theme', async () => {
    const page = await open('/', { colorScheme: 'light', bypassCSP: true });
    const check = async (name, rules) => {
      const { violations } = await page.evaluate((runOnly) => globalThis.axe.run({ runOnly }), rules);
      assert.deepEqual(violations.map((v) => `${name}: ${v.id} ${v.nodes[0].html} ${v.nodes[0].failureSummary}`), []);
    };
    for (const [name, path] of Object.entries({ ...pages, refused: '/icon/mdi/%20', opened: '/fa/mdiHome', phone: '/docs/' })) {
      if (name === 'phone') await page.setViewportSize({ width: 320, height: 640 });
      await page.goto(site.base + path);
      if (name === 'home') {
        await page.getByRole('searchbox', { name: 'Search icons' }).pressSequentially('home');
        await page.locator('[data-testid=results][data-query=home]').waitFor();
      }
      await page.addScriptTag({ content: axe });
      await check(name, ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']);
      await page.emulateMedia({ colorScheme: 'dark' });
      await page.evaluate(() => Promise.all(document.getAnimations().map((a) => a.finished))); // of the colours
      await check(name + ', dark', ['color-contrast', 'link-in-text-block']); // the rules about colours
      await page.emulateMedia({ colorScheme: 'light' });
      assert.deepEqual(page.noise.filter((m) => !/400|404/.test(m)), [], name);
    }
    await close(page);
  });
  test('no scrolling sideways, at 320 px, with large text, without a script', async () => {
    for (const javaScriptEnabled of [true, false]) {
     const page = await open('/', { viewport: { width: 320, height: 640 }, javaScriptEnabled });
     for (const path of Object.values(pages)) {
      await page.goto(site.base + path);
      if (javaScriptEnabled) {
        for (const size of ['100%', '200%']) {
          await page.evaluate((s) => (document.documentElement.style.fontSize = s), size);
          const beyond = await page.evaluate(() => [...(document.documentElement.scrollWidth > innerWidth ? ['the page'] : []), ...[...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.hide, pre *, .wide *')).map((e) => e.outerHTML.slice(0, 90))]);
          assert.deepEqual(beyond, [], `${path} ${size}`);
        }
      } else assert.equal(await page.getByRole('button', { name: /theme$/ }).count(), 0);
     }
     await close(page);
    }
  });
  test('order of the landmarks; the skip link is first', async () => {
    const page = await open('/icon/mdi/home');
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to content');
    const order = await page.evaluate(() => [...document.querySelectorAll('.skip, header, [role=search], nav[aria-label=Site], #theme, main, footer')].map((e) => e.id || e.className || e.tagName));
    assert.deepEqual(order, ['skip', 'bar', 'find', 'NAV', 'theme', 'main', 'FOOTER']);
    assert.equal(await page.getByRole('status').count(), 1);
    assert.equal(await page.getByRole('status').textContent(), '');
    await close(page);
  });
  test('the theme is stored, follows the system, does not flash, and is light on paper', async () => {
    const page = await open('/', { colorScheme: 'light' });
    const scheme = () => page.evaluate(() => getComputedStyle(document.body).colorScheme + ' ' + getComputedStyle(document.documentElement).backgroundColor);
    assert.match(await scheme(), /rgb\(255, 255, 255\)/);
    await page.emulateMedia({ colorScheme: 'dark' });
    assert.match(await scheme(), /rgb\(15, 17, 21\)/);
    await page.getByRole('button', { name: 'Light theme' }).click();
    assert.match(await scheme(), /rgb\(255, 255, 255\)/);
    await page.reload();
    assert.match(await scheme(), /rgb\(255, 255, 255\)/);
    await page.getByRole('button', { name: 'Dark theme' }).click();
    await page.emulateMedia({ colorScheme: 'light' });
    await page.addInitScript(() => {
      globalThis.grounds = new Set();
      const look = () => (document.body && grounds.add(getComputedStyle(document.documentElement).backgroundColor), requestAnimationFrame(look));
      look();
    });
    await page.goto(site.base + '/packs');
    await page.waitForTimeout(50);
    assert.deepEqual(await page.evaluate(() => [...grounds]), ['rgb(15, 17, 21)']);
    await page.evaluate(() => { // chosen on another page, after which the user goes back to this one, which the browser stored
      localStorage.setItem('theme', 'light');
      dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }));
    });
    assert.match(await scheme(), /rgb\(255, 255, 255\)/, 'after Back');
    const other = await page.context().newPage();
    await other.goto(site.base + '/');
    await other.getByRole('button', { name: 'Dark theme' }).click();
    await page.getByRole('button', { name: 'Light theme' }).waitFor();
    assert.match(await scheme(), /rgb\(15, 17, 21\)/, 'in another tab');
    await page.emulateMedia({ colorScheme: 'light', media: 'print' });
    assert.match(await scheme(), /rgb\(255, 255, 255\)/, 'on paper');
    assert.ok(!(await page.getByRole('searchbox').isVisible()), 'a search box on paper');
    await close(page);
  });
  test('black icons are visible on the dark ground, and icons keep their own colours', async () => {
    const page = await open('/icon/mdi/square', { colorScheme: 'dark' });
    const pixel = async (selector) => {
      const shot = await page.locator(selector).first().screenshot();
      return page.evaluate(async (data) => {
        const image = new Image();
        image.src = 'data:image/png;base64,' + data;
        await image.decode();
        const canvas = Object.assign(document.createElement('canvas'), { width: image.width, height: image.height });
        const context = canvas.getContext('2d');
        context.drawImage(image, 0, 0);
        return [...context.getImageData(image.width / 4, image.height / 4, 1, 1).data].slice(0, 3);
      }, shot.toString('base64'));
    };
    assert.ok((await pixel('#preview')).every((c) => c > 200), 'a black square on dark ground');
    await page.goto(site.base + '/icon/colors/home');
    assert.deepEqual(await pixel('#preview'), [255, 102, 0]);
    await page.getByRole('button', { name: /theme$/ }).click(); // colours that the system forces win over the chosen theme
    await page.emulateMedia({ colorScheme: 'dark', forcedColors: 'active' });
    await page.goto(site.base + '/icon/mdi/square');
    assert.ok((await pixel('#preview')).every((c) => c > 200), 'a black square with forced colours');
    await close(page);
  });
  test('layout shift', async () => {
    for (const [path, width] of [['/', 1280], ['/search?q=home', 1280], ['/icon/mdi/home', 1280], ['/pack/mdi', 1280], ['/bag', 1280], ['/bag', 360]]) {
      const page = await open(path, { viewport: { width, height: 800 } }, async (p) => {
        await p.route('**/bag?*', async (route) => {
          await p.waitForTimeout(200); // until the page without the stored icons is painted
          await route.continue();
        });
        await p.addInitScript(() => {
          localStorage.setItem('bag', 'lucide/house,mdi/home,nc/home');
          globalThis.shift = 0;
          new PerformanceObserver((l) => l.getEntries().forEach((e) => (globalThis.shift += e.value))).observe({ type: 'layout-shift', buffered: true });
        });
      });
      if (path === '/bag') await page.getByRole('listitem').nth(2).waitFor();
      await page.waitForTimeout(200);
      assert.ok((await page.evaluate(() => globalThis.shift)) <= 0.02, path);
      await close(page);
    }
  });
  test('hostile text does nothing', async () => {
    const page = await open('/');
    const visit = async (path) => {
      await page.goto(site.base + path, { waitUntil: 'domcontentloaded' });
      assert.equal(await page.evaluate(() => globalThis.hacked), undefined, path);
      assert.deepEqual(page.noise, [], path);
    };
    for (let i = 0; i < hostile.length; i++) {
      const text = encodeURIComponent(hostile[i]);
      for (const path of [`/pack/hostile-${i}`, `/icon/hostile-${i}/bomb`, '/search?q=' + text, `/pack/mdi?category=${text}`]) await visit(path);
    }
    for (const path of ['/', '/packs', '/search?q=home', '/search?q=bomb']) await visit(path);
    await close(page);
  });
});

describe('search', () => {
  const results = (page, query) => page.locator(`[data-testid=results][data-query="${query}"]`).waitFor();
  const box = (page) => page.getByRole('searchbox', { name: 'Search icons' });

  test('home has the counts of the API', async () => {
    const page = await open('/');
    const { total, packs } = await (await get('/api/v1/packs')).json();
    assert.equal(+(await page.getByTestId('pack-count').textContent()), total);
    assert.equal(+(await page.getByTestId('icon-count').textContent()), packs.reduce((n, p) => n + p.count, 0));
    await close(page);
  });
  test('results are those of the API, in its order', async () => {
    const page = await open('/search?q=home', { javaScriptEnabled: false });
    const { total, results: list } = await (await get('/api/v1/search?q=home&limit=50')).json();
    assert.equal(+(await page.getByTestId('total').textContent()), total);
    const links = await page.getByRole('list', { name: 'Results' }).getByRole('link').evaluateAll((all) => all.map((a) => a.getAttribute('href')));
    assert.deepEqual(links.slice(0, list.length), list.map((r) => `/icon/${r.pack}/${r.name}`));
    const name = await page.getByRole('link', { name: 'home Attic' }).textContent();
    assert.match(name, /Non-commercial/);
    assert.equal(await page.getByText('Non-commercial', { exact: true }).count(), links.filter((a) => a.startsWith('/icon/nc/')).length);
    await close(page);
  });
  test('filters work without a script, and with one at once', async () => {
    for (const javaScriptEnabled of [false, true]) {
      const page = await open('/search?q=home', { javaScriptEnabled });
      const form = page.getByRole('form', { name: 'Filters' });
      await form.getByLabel('Pack').selectOption('lucide');
      if (javaScriptEnabled) await page.waitForURL('**/search?q=home&pack=lucide');
      else await form.getByRole('button', { name: 'Apply' }).click();
      await results(page, 'home');
      assert.ok((await page.locator('.grid a').evaluateAll((all) => all.map((a) => a.getAttribute('href')))).every((a) => a.startsWith('/icon/lucide/')));
      await form.getByLabel('Pack').selectOption('');
      await form.getByLabel('Commercial use allowed').check();
      if (javaScriptEnabled) await page.waitForURL('**/search?q=home&commercial=true');
      else await form.getByRole('button', { name: 'Apply' }).click();
      assert.equal(await page.getByRole('link', { name: 'home Attic' }).count(), 0);
      await close(page);
    }
  });
  test('typing shows results without a new document; one entry in the history', async () => {
    const page = await open('/icon/mdi/star');
    await page.evaluate(() => (globalThis.sameDocument = true));
    const entries = await page.evaluate(() => history.length);
    await box(page).pressSequentially('home', { delay: 20 });
    await results(page, 'home');
    assert.equal(await page.locator('link[rel=canonical]').count(), 0);
    assert.equal(await page.evaluate(() => globalThis.sameDocument), true);
    assert.equal(await page.evaluate(() => history.length), entries + 1);
    assert.match(page.url(), /\/search\?q=home$/);
    assert.deepEqual(await page.evaluate(() => [document.activeElement.id, document.activeElement.selectionStart]), ['q', 4]);
    await page.getByRole('status').filter({ hasText: /\d+ results/ }).waitFor({ state: 'attached' });
    await page.goBack();
    await page.locator('h1', { hasText: 'star' }).waitFor();
    assert.match(page.url(), /\/icon\/mdi\/star$/);
    assert.deepEqual(page.noise, []);
    await close(page);
  });
  test('chips of styles and sizes apply at once, without a script too', async () => {
    for (const javaScriptEnabled of [false, true]) {
      const page = await open('/search?q=home', { javaScriptEnabled });
      const chip = (name) => page.getByRole('navigation', { name: 'Styles and sizes' }).getByRole('link', { name, exact: true });
      await chip('multicolour').click();
      await page.waitForURL('**/search?q=home&style=multicolour');
      await results(page, 'home');
      const links = await page.locator('.grid a').evaluateAll((all) => all.map((a) => a.getAttribute('href')));
      assert.ok(links.includes('/icon/colors/home') && !links.includes('/icon/mdi/home'), links.join(' '));
      await chip('24 px').click();
      await page.waitForURL('**/search?q=home&style=multicolour&grid=24');
      if (javaScriptEnabled) {
        await box(page).fill('hom');
        await page.waitForURL('**/search?q=hom&style=multicolour&grid=24');
        assert.match(await chip('filled').getAttribute('href'), /q=hom&/);
        await box(page).fill('home');
        await page.waitForURL('**/search?q=home&style=multicolour&grid=24');
      }
      await chip('multicolour').click();
      await page.waitForURL('**/search?q=home&grid=24');
      assert.equal(await chip('24 px').getAttribute('aria-current'), 'true');
      await close(page);
    }
  });
  test('typing leaves filters that stay the same where they are', async () => {
    const page = await open('/packs');
    const options = (label) => page.getByRole('form', { name: 'Filters' }).getByLabel(label).locator('option').count();
    const licences = await options('Licence');
    for (const query of ['arrow', 'arrow-1']) { // the first page has other filters than that of the packs
      await box(page).fill(query);
      await results(page, query);
      assert.equal(await options('Licence'), licences);
      assert.ok((await options('Pack')) > 20);
    }
    await page.evaluate(() => (globalThis.before = document.getElementById('pack')));
    await box(page).fill('home');
    await results(page, 'home');
    assert.ok(await page.evaluate(() => document.getElementById('pack') === globalThis.before));
    await page.getByLabel('Pack').selectOption('lucide');
    await page.waitForURL('**/search?q=home&pack=lucide');
    await box(page).fill('house');
    await page.waitForURL('**/search?q=house&pack=lucide');
    assert.equal(await page.getByLabel('Pack').inputValue(), 'lucide');
    assert.deepEqual(page.noise, []);
    await close(page);
  });
  test('typing and filtering show exactly the page of the address', async () => {
    const page = await open('/packs');
    const differs = () => page.evaluate(async () => {
      const html = await (await fetch(location.pathname + location.search)).text();
      const want = new DOMParser().parseFromString(html, 'text/html').querySelector('main');
      const got = document.querySelector('main').cloneNode(true);
      for (const of of [want, got]) {
        for (const image of of.querySelectorAll('img')) {
          image.loading = 'lazy';
          if (image.dataset.src) image.setAttribute('src', image.dataset.src);
          delete image.dataset.src;
        }
        for (const picture of of.querySelectorAll('.grid a > :first-child')) { // the script shows SVGs in the place of images
          const look = picture.getAttribute('class');
          picture.replaceWith(Object.assign(document.createElement('img'), { className: look }));
        }
      }
      const texts = (e) => [...e.childNodes].filter((n) => n.nodeType !== 3 || n.data.trim()).map((n) => (n.nodeType === 3 ? n.data.trim() : `<${n.nodeName} ${[...n.attributes].map((a) => `${a.name}=${a.value}`).sort()}>${texts(n)}`)).join('|');
      return texts(got) === texts(want) ? '' : `${texts(got)}\n${texts(want)}`;
    });
    const icons = () => page.waitForFunction(() => [...document.querySelectorAll('main img')].every((image) => image.getBoundingClientRect().top > innerHeight || (image.src && image.complete)));
    for (const [query, drawn] of [['arrow', true], ['arrow-1', false], ['arrow', false], ['home', true], ['house', true], ['qqqzzz', false], ['nc', true], ['', true], ['bomb', false], ['home', false]]) {
      await box(page).fill(query);
      await page.waitForURL((url) => url.pathname === '/search' && (url.searchParams.get('q') ?? '') === query);
      if (drawn) await icons();
      assert.equal(await differs(), '', query);
    }
    await page.getByLabel('Commercial use allowed').check();
    await page.waitForURL('**commercial=true');
    assert.equal(await differs(), '', 'filtered');
    await box(page).fill('home-');
    await page.waitForURL('**q=home-&**');
    await page.evaluate(() => (globalThis.item = document.querySelector('.grid li')));
    await box(page).fill('hom');
    await page.waitForURL('**q=hom&**');
    assert.ok(await page.evaluate(() => globalThis.item.isConnected), 'the elements of one search show the next');
    assert.ok(await page.locator('.grid li svg').count(), 'results carry their SVGs');
    assert.deepEqual(page.noise, []);
    await close(page);
  });
  test('icons below the window load when the user scrolls to them, after typing and filtering', async () => {
    const page = await open('/', { viewport: { width: 320, height: 640 } });
    await box(page).pressSequentially('arrow');
    await results(page, 'arrow');
    const last = page.locator('.grid li').last();
    await last.scrollIntoViewIfNeeded();
    await page.waitForFunction(() => [...document.querySelectorAll('.grid a > :first-child')].every((picture) => picture.nodeName === 'svg' || picture.naturalWidth > 0 || picture.getBoundingClientRect().top > 2 * innerHeight || picture.getBoundingClientRect().bottom < -innerHeight));
    await page.goto(site.base + '/packs');
    await page.getByLabel('Commercial use allowed').check();
    await page.waitForURL('**/packs?commercial=true');
    await page.locator('.packs a').last().scrollIntoViewIfNeeded();
    await page.waitForFunction(() => [...document.querySelectorAll('.packs img')].at(-1).naturalWidth > 0);
    await close(page);
  });
  test('a cleared box asks for nothing where there are no results', async () => {
    const page = await open('/icon/mdi/star');
    await page.route(/\/search/, (route) => route.abort());
    await box(page).pressSequentially('x');
    await page.getByRole('status').filter({ hasText: /connection|network/ }).waitFor();
    await page.unroute(/\/search/);
    await page.keyboard.press('Escape');
    await page.getByRole('status').filter({ hasText: /^$/ }).waitFor({ state: 'attached' });
    assert.match(page.url(), /\/icon\/mdi\/star$/);
    assert.equal(await page.locator('h1').textContent(), 'star');
    await close(page);
  });
  test('the results are always those of the last query, whatever the order of responses', async () => {
    const page = await open('/');
    await page.route(/\/search\?q=/, async (route) => {
      const length = new URL(route.request().url()).searchParams.get('q').length;
      await new Promise((r) => setTimeout(r, 600 - 120 * length));
      await route.continue().catch(() => {});
    });
    await box(page).pressSequentially('arrow', { delay: 60 });
    await results(page, 'arrow');
    await page.waitForTimeout(700);
    assert.equal(await page.getByTestId('results').getAttribute('data-query'), 'arrow');
    await close(page);
  });
  test('Back from an icon restores the results and the scroll position', async () => {
    const page = await open('/');
    await box(page).pressSequentially('arrow');
    await results(page, 'arrow');
    const link = page.locator('.grid a').nth(50);
    await link.scrollIntoViewIfNeeded();
    await page.waitForTimeout(100);
    const y = await page.evaluate(() => scrollY);
    assert.ok(y > 100);
    await link.click();
    await page.waitForURL('**/icon/**');
    await page.goBack();
    await results(page, 'arrow');
    await page.waitForFunction((want) => Math.abs(scrollY - want) <= 80, y);
    assert.equal(await box(page).inputValue(), 'arrow');
    await page.goBack();
    await page.getByTestId('icon-count').waitFor();
    await close(page);
  });
  test('after a 429, a 503 and without a network the results stay, and the next key tries again', async () => {
    const page = await open('/search?q=home');
    let refused = 1;
    await page.route(/\/search\?q=/, (route) => (refused-- > 0 ? route.fulfill({ status: 429, headers: { 'Retry-After': '1' }, body: '{}' }) : route.continue()));
    await box(page).press('End');
    await box(page).pressSequentially('-');
    await page.getByRole('status').filter({ hasText: '1 second' }).waitFor();
    assert.equal(await page.getByTestId('results').getAttribute('data-query'), 'home');
    let broken = 1;
    await page.route(/\/search\?q=/, (route) => (broken-- > 0 ? route.fulfill({ status: 503, contentType: 'text/html', body: '<main></main>' }) : route.continue()));
    await box(page).pressSequentially('o');
    await page.getByRole('status').filter({ hasText: 'The server has no results at the moment (503)' }).waitFor();
    assert.equal(await page.getByTestId('results').getAttribute('data-query'), 'home');
    await box(page).press('Backspace');
    await box(page).pressSequentially('o');
    await results(page, 'home-o');
    await page.context().setOffline(true);
    await box(page).pressSequentially('u');
    await page.getByRole('status').filter({ hasText: 'no network' }).waitFor();
    assert.equal(await page.getByTestId('results').getAttribute('data-query'), 'home-o');
    await page.context().setOffline(false);
    await box(page).pressSequentially('t');
    await results(page, 'home-out');
    await close(page);
  });
  test('keys', async () => {
    const page = await open('/search?q=arrow');
    const at = () => page.evaluate(() => [...document.querySelectorAll('.grid a')].indexOf(document.activeElement));
    const inBox = () => page.evaluate(() => document.activeElement.id === 'q');
    await page.keyboard.press('/');
    assert.ok(await inBox());
    await page.keyboard.press('End');
    await page.keyboard.press('/');
    assert.equal(await box(page).inputValue(), 'arrow/');
    await page.keyboard.press('Backspace');
    await results(page, 'arrow');
    const columns = await page.evaluate(() => {
      const tops = [...document.querySelectorAll('.grid a')].map((a) => a.getBoundingClientRect().top);
      return tops.filter((t) => t === tops[0]).length;
    });
    for (const [key, want] of [['ArrowDown', 0], ['ArrowRight', 1], ['ArrowDown', 1 + columns], ['ArrowLeft', columns], ['End', 59], ['Home', 0]]) {
      await page.keyboard.press(key);
      assert.equal(await at(), want, key);
    }
    await page.keyboard.press('ArrowUp');
    assert.ok(await inBox());
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Escape');
    assert.ok(await inBox());
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press('Control+k');
    assert.ok(await inBox());
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/icon/**');
    await page.goBack();
    await results(page, 'arrow');
    await box(page).focus();
    await page.keyboard.press('Escape');
    assert.equal(await box(page).inputValue(), '');
    await close(page);
  });
  test('without results the page says so, and offers a nearby query', async () => {
    const page = await open('/search?q=hoem+xyzzyq');
    assert.equal(await page.getByTestId('total').textContent(), '0');
    assert.ok(await page.locator('main .none a').count());
    await close(page);
  });
});

describe('icon', () => {
  const mdi = (page) => page.getByTestId('cdn-url').textContent();
  test('address, licence, attribution', async () => {
    const page = await open('/icon/mdi/home', { javaScriptEnabled: false });
    const { metadata } = await (await get('/api/v1/icon/mdi/home')).json();
    assert.equal(await mdi(page), metadata.url);
    assert.equal((await get(new URL(metadata.url).pathname)).status, 200);
    assert.equal(await page.locator('h1').textContent(), 'home');
    assert.equal(await page.getByTestId('license').getAttribute('rel'), 'license');
    assert.equal(await page.getByTestId('attribution').textContent(), metadata.attribution);
    assert.equal(await page.getByTestId('noncommercial').count(), 0);
    assert.equal(await page.getByTestId('preview').getAttribute('alt'), 'home');
    const ld = JSON.parse(await page.locator('script[type="application/ld+json"]').textContent());
    assert.equal(ld.contentUrl, metadata.url);
    assert.equal(ld.creditText, metadata.attribution);
    await page.goto(site.base + '/icon/nc/home');
    assert.equal(await page.getByTestId('noncommercial').textContent(), 'Non-commercial');
    await close(page);
  });
  test('similar icons of other packs', async () => {
    const page = await open('/icon/mdi/home', { javaScriptEnabled: false });
    const { results } = await (await get('/api/v1/search?similar=mdi/home&limit=40')).json();
    const links = await page.locator('.near a').evaluateAll((all) => all.map((a) => a.getAttribute('href').slice('/icon/'.length)));
    const packs = links.map((link) => link.split('/')[0]);
    assert.ok(links.length > 2 && links.every((link) => results.some((r) => link === `${r.pack}/${r.name}`)), links.join(' '));
    assert.equal(new Set(['mdi', ...packs]).size, packs.length + 1);
    await close(page);
  });
  test('the code copied last comes first; an icon is dragged as an SVG', async () => {
    const page = await open('/icon/mdi/home?color=f00&size=48', { permissions: ['clipboard-read', 'clipboard-write'] });
    await page.getByRole('button', { name: 'Copy Markdown' }).click();
    await page.getByRole('status').filter({ hasText: 'Copied' }).waitFor();
    const drag = (selector) => page.evaluate((of) => {
      const event = new DragEvent('dragstart', { bubbles: true, dataTransfer: new DataTransfer() });
      document.querySelector(of).dispatchEvent(event);
      return Object.fromEntries([...event.dataTransfer.types].map((type) => [type.toLowerCase(), event.dataTransfer.getData(type)]));
    }, selector);
    const address = site.base + '/mdi/home.svg?color=%23ff0000&size=48';
    assert.deepEqual(await drag('#preview'), { downloadurl: 'image/svg+xml:mdi-home.svg:' + address, 'text/uri-list': address, 'text/html': `<img src="${address.replace('&', '&amp;')}" alt="">`, 'text/plain': address });
    await page.goto(site.base + '/icon/lucide/house');
    assert.equal(await page.locator('#use h3').first().textContent(), 'Markdown');
    await page.goto(site.base + '/search?q=house&pack=lucide');
    assert.equal((await drag('.grid a'))['text/uri-list'], site.base + '/lucide/house.svg');
    await close(page);
  });
  test('a link to a PNG is dragged as one', async () => {
    const page = await open('/icon/mdi/home?color=f00');
    const data = await page.evaluate(() => {
      const event = new DragEvent('dragstart', { bubbles: true, dataTransfer: new DataTransfer() });
      document.querySelector('#pngs a:nth-of-type(2)').dispatchEvent(event);
      return event.dataTransfer.getData('DownloadURL');
    });
    assert.equal(data, `image/png:mdi-home.png:${site.base}/mdi/home.png?color=%23ff0000&size=64`);
    await close(page);
  });
  test('home shows the icons used recently, the last one first, until the user forgets them', async () => {
    const page = await open('/', { permissions: ['clipboard-read', 'clipboard-write'] });
    const list = page.getByRole('list', { name: 'Recently used' });
    assert.equal(await list.isVisible(), false);
    for (const icon of ['mdi/home', 'colors/home', 'mdi/star', 'mdi/home']) {
      await page.goto(site.base + '/icon/' + icon);
      await page.getByRole('button', { name: 'Copy CDN address' }).click();
      await page.getByRole('status').filter({ hasText: 'Copied' }).waitFor();
    }
    await page.goto(site.base + '/icon/mdi/camera'); // seen, and not used
    await page.goto(site.base + '/');
    await list.waitFor();
    assert.deepEqual(await list.getByRole('link').evaluateAll((all) => all.map((a) => [a.getAttribute('href'), a.firstChild.className])), [['/icon/mdi/home', 'm'], ['/icon/mdi/star', 'm'], ['/icon/colors/home', 'c']]);
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      await page.evaluate(() => Promise.all([...document.images].map((image) => image.decode().catch(() => {}))));
    }
    await page.evaluate(() => (localStorage.recent = '"><img src=x onerror=alert(1)> m,mdi/home x,mdi/bell m'));
    await page.reload();
    assert.deepEqual(await list.getByRole('link').evaluateAll((all) => all.map((a) => a.getAttribute('href'))), ['/icon/mdi/bell']);
    await page.getByRole('button', { name: 'Forget' }).click();
    assert.equal(await list.isVisible(), false);
    assert.deepEqual(page.noise, []);
    await page.evaluate(() => (localStorage.recent = 'mdi/bell m'));
    await page.reload();
    await page.addInitScript(() => (globalThis.shift = 0, new PerformanceObserver((entries) => entries.getEntries().forEach((e) => (globalThis.shift += e.value))).observe({ type: 'layout-shift', buffered: true })));
    await page.reload({ waitUntil: 'networkidle' });
    assert.ok((await page.evaluate(() => shift)) <= 0.02, 'nothing moves');
    await close(page);
    const plain = await open('/', { javaScriptEnabled: false });
    assert.equal(await plain.getByRole('list', { name: 'Recently used' }).isVisible(), false);
    await close(plain);
  });
  test('six requests', async () => {
    const urls = [];
    const page = await open('/icon/mdi/home', { serviceWorkers: 'allow' }, async (p) => p.on('request', (r) => r.serviceWorker() || /favicon|manifest|sw\.js|^data:/.test(r.url()) || urls.push(r.url())));
    await page.waitForTimeout(500);
    assert.ok(urls.length <= 6, urls.join('\n'));
    await close(page);
  });
  test('copying: with the clipboard, without it, and refused', async () => {
    const page = await open('/icon/mdi/home', { permissions: ['clipboard-read', 'clipboard-write'] });
    const status = page.getByRole('status');
    await page.getByRole('button', { name: 'Copy CDN address' }).click();
    await status.filter({ hasText: 'Copied' }).waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), await mdi(page));
    await page.getByRole('button', { name: 'Copy Markdown' }).click();
    await page.waitForFunction((want) => navigator.clipboard.readText().then((t) => t === want), `![home](${await mdi(page)}?color=000&dark=fff)`);
    await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true }));
    await page.getByRole('button', { name: 'Copy HTML' }).click();
    await page.evaluate(() => delete navigator.clipboard);
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `<img src="${await mdi(page)}" alt="" width="24" height="24">`);
    await page.reload();
    await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: { writeText: () => Promise.reject(new Error('no')) } }));
    await page.getByRole('button', { name: 'Copy CDN address' }).click();
    await status.filter({ hasText: 'refuses' }).waitFor();
    assert.doesNotMatch(await status.textContent(), /Copied/);
    assert.equal(await page.evaluate(() => String(getSelection())), await mdi(page));
    await close(page);
  });
  test('customising', async () => {
    const page = await open('/icon/mdi/home');
    const form = page.getByRole('form', { name: 'Customise' });
    await form.getByLabel('Colour', { exact: true }).fill('E4572E');
    await form.getByLabel('Size').fill('48');
    const want = site.base + '/mdi/home.svg?color=%23e4572e&size=48';
    assert.equal(await mdi(page), want);
    assert.match(page.url(), /\/icon\/mdi\/home\?color=%23e4572e&size=48$/);
    assert.match(await page.getByTestId('preview').getAttribute('src'), /color=%23e4572e&size=48$/);
    await page.getByTestId('snippet-svg').filter({ hasText: /width="48".*#e4572e/ }).waitFor();
    assert.equal(await page.getByTestId('snippet-svg').textContent(), await (await get('/mdi/home.svg?color=e4572e&size=48')).text());
    const data = await page.getByTestId('snippet-datauri').textContent();
    assert.equal(decodeURIComponent(data.slice(data.indexOf(',') + 1)), await page.getByTestId('snippet-svg').textContent());
    assert.equal(await page.getByTestId('snippet-html').textContent(), `<img src="${want}" alt="" width="48" height="48">`);
    assert.match(await (await get('/icon/mdi/narrow?size=10')).text(), /width=&#34;9&#34; height=&#34;10&#34;.*\n.*\n.*width: 8.75px/, 'an image takes whole pixels alone');
    await form.getByLabel('Colour', { exact: true }).fill('nope');
    assert.equal(await form.getByLabel('Colour', { exact: true }).getAttribute('aria-invalid'), 'true');
    assert.equal(await mdi(page), want);
    await form.getByLabel('Colour', { exact: true }).fill('');
    await form.getByLabel('Rotate').selectOption('90');
    await form.getByLabel('Flip').selectOption('vertical');
    assert.equal(await mdi(page), site.base + '/mdi/home.svg?size=48&rotate=90&flip=vertical');
    const late = page.waitForResponse(/\/icon\/mdi\/home\?size=49/);
    await form.getByLabel('Size').fill('49');
    await page.getByRole('searchbox').fill('star'); // before the code has come
    await page.locator('[data-testid=results][data-query=star]').waitFor();
    await late;
    await page.waitForTimeout(100);
    assert.doesNotMatch(await page.getByRole('status').textContent(), /code/);
    await page.goto(site.base + '/icon/colors/home?color=fff');
    assert.ok(await form.getByLabel('Colour', { exact: true }).isDisabled());
    assert.equal(await page.getByText('own colours').count(), 1);
    await close(page);
    const plain = await open('/icon/mdi/home', { javaScriptEnabled: false });
    await plain.getByLabel('Colour', { exact: true }).fill('f00');
    await plain.getByRole('button', { name: 'Apply' }).click();
    assert.equal(await mdi(plain), site.base + '/mdi/home.svg?color=%23ff0000');
    await close(plain);
  });
  test('a background, padding and corners', async () => {
    const page = await open('/icon/mdi/home');
    const form = page.getByRole('form', { name: 'Customise' });
    const [ground, padding, corners] = ['Background', 'Padding', 'Corners'].map((label) => form.getByLabel(label, { exact: true }));
    await form.getByLabel('Size').fill('48');
    await corners.fill('12'); // of no background
    assert.equal(await mdi(page), site.base + '/mdi/home.svg?size=48');
    await form.getByLabel('Pick a background').fill('#ffee00');
    assert.equal(await ground.inputValue(), '#ffee00');
    await padding.fill('8');
    const query = '?size=48&background=%23ffee00&padding=8&radius=12';
    const want = site.base + '/mdi/home.svg' + query;
    assert.equal(await mdi(page), want);
    assert.ok(page.url().endsWith('/icon/mdi/home' + query));
    assert.equal(await page.getByTestId('preview').getAttribute('class'), 'k', 'a background is not inverted on dark pages');
    await page.locator('#pngs a[href="/mdi/home.png?size=512&background=%23ffee00&padding=85&radius=128"]').waitFor();
    assert.equal(await page.getByTestId('snippet-svg').textContent(), await (await get('/mdi/home.svg' + query)).text());
    assert.equal(await page.getByTestId('snippet-markdown').textContent(), `![home](${want})`);
    assert.match(await page.getByTestId('snippet-css').textContent(), /background: url/);
    assert.match(await page.getByTestId('snippet-react').textContent(), /style=\{\{ background: '#ffee00', padding: '8px', boxSizing: 'border-box', borderRadius: '12px' \}\}/);
    for (const link of await page.locator('#pngs a').all()) assert.equal((await get(await link.getAttribute('href'))).status, 200);
    const [png] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download PNG' }).click()]);
    const pixel = await page.evaluate(async (data) => {
      const image = Object.assign(new Image(), { src: data });
      await image.decode();
      const canvas = new OffscreenCanvas(48, 48).getContext('2d');
      canvas.drawImage(image, 0, 0);
      const { data: pixels } = canvas.getImageData(0, 0, 48, 48);
      return [...pixels.slice(4 * 24, 4 * 25), pixels[3]];
    }, 'data:image/png;base64,' + readFileSync(await png.path()).toString('base64'));
    assert.deepEqual(pixel, [255, 238, 0, 255, 0], 'the ground, with round corners');
    await padding.fill('24');
    assert.equal(await padding.getAttribute('aria-invalid'), 'true', 'no room for the icon');
    assert.equal(await mdi(page), want);
    await form.getByLabel('Size').fill('49');
    assert.equal(await padding.getAttribute('aria-invalid'), null);
    await ground.fill('nope');
    assert.equal(await ground.getAttribute('aria-invalid'), 'true');
    assert.deepEqual(page.noise, []);
    await page.goto(site.base + '/icon/mdi/narrow');
    await padding.fill('11'); // of 21 pixels
    assert.equal(await padding.getAttribute('aria-invalid'), 'true');
    await close(page);
    const plain = await open('/icon/colors/home', { javaScriptEnabled: false });
    await plain.getByLabel('Background', { exact: true }).fill('FE0');
    await plain.getByLabel('Padding').fill('4');
    await plain.getByRole('button', { name: 'Apply' }).click();
    assert.equal(await mdi(plain), site.base + '/colors/home.svg?background=%23ffee00&padding=4');
    assert.equal(await plain.getByLabel('Background', { exact: true }).inputValue(), '#ffee00');
    await close(plain);
  });
  test('snippets', async () => {
    const page = await open('/icon/lucide/2d');
    const code = (id) => page.getByTestId('snippet-' + id).textContent();
    assert.match(await code('react'), /configureIcons\(\{ base: '[^']+' \}\);[\s\S]*<Icon pack="lucide" name="2d" size=\{24\} color="currentColor" \/>/);
    assert.deepEqual(JSON.parse(await code('mcp')), { name: 'get_icon', arguments: { pack: 'lucide', name: '2d', format: 'svg' } });
    assert.equal(await code('cli'), `npx @iconedge/react add lucide/2d --out src/icons --api ${site.base}`);
    await page.evaluate((css) => {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(css);
      if (sheet.cssRules.length !== 1 || !sheet.cssRules[0].style.maskImage || !sheet.cssRules[0].style.backgroundColor) throw new Error(sheet.cssRules[0]?.cssText);
    }, await code('css'));
    assert.match(await code('angular'), /template: `<iconify-icon icon="lucide:2d"><\/iconify-icon>`[^]*export class The2dIcon/);
    assert.match(await code('flutter'), /SvgPicture\.network\(\n  '[^']+\/lucide\/2d\.svg',[^]*SvgTheme/);
    assert.match(await code('swiftui'), /lucide\/2d\.png\?size=72"\)\) \{ image in\n  image\.resizable\(\)\.renderingMode\(\.template\)[^]*\.frame\(width: 24, height: 24\)/);
    assert.match(await code('android'), /model = "[^"]+\/lucide\/2d\.svg",[^]*ColorFilter\.tint/);
    await page.goto(site.base + '/icon/mdi/wide?size=600&background=fff&padding=60&color=f00&rotate=90');
    const picture = /URL\(string: "([^"]+)"/.exec(await code('swiftui'))[1];
    assert.match(picture, /size=1024.*&padding=102$/);
    assert.equal((await fetch(picture)).status, 200);
    assert.doesNotMatch(await code('swiftui') + await code('android') + await code('flutter'), /template|tint|SvgTheme/);
    assert.match(await code('angular'), /rotate="90deg" style="color: #ff0000; background: #ffffff; padding: 60px; box-sizing: border-box"/);
    await page.goto(site.base + '/icon/colors/home');
    assert.match(await code('css'), /background: url/);
    assert.doesNotMatch(await code('swiftui') + await code('android') + await code('flutter'), /template|tint|SvgTheme/);
    await close(page);
  });
  test('a long SVG is filled in', async () => {
    const page = await open('/icon/colors/long');
    const svg = await (await get('/colors/long.svg')).text();
    await page.getByTestId('snippet-svg').filter({ hasText: '<svg' }).waitFor();
    assert.equal(await page.getByTestId('snippet-svg').textContent(), svg);
    assert.equal(decodeURIComponent((await page.getByTestId('snippet-datauri').textContent()).slice(19)), svg);
    assert.deepEqual(page.noise, []);
    await close(page);
  });
  test('a long SVG that does not come is neither shown nor copied', async () => {
    const page = await open('/icon/colors/long', {}, (p) => p.route(/long\.svg$/, (route) => (route.request().resourceType() === 'fetch' ? route.fulfill({ status: 502, body: '{"title":"Bad Gateway"}' }) : route.continue())));
    await page.getByRole('button', { name: 'Copy SVG' }).click();
    await page.getByRole('status').filter({ hasText: 'nothing to copy' }).waitFor();
    assert.equal(await page.getByTestId('snippet-svg').textContent(), '');
    await close(page);
  });
  test('downloads', async () => {
    const page = await open('/icon/mdi/wide');
    const [svg] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download SVG' }).click()]);
    assert.equal(svg.suggestedFilename(), 'mdi-wide.svg');
    assert.equal(readFileSync(await svg.path(), 'utf8'), await (await get('/mdi/wide.svg')).text());
    const [png] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download PNG' }).click()]);
    assert.equal(png.suggestedFilename(), 'mdi-wide-512.png');
    const bytes = readFileSync(await png.path());
    assert.deepEqual([bytes.readUInt32BE(16), bytes.readUInt32BE(20), bytes[25]], [512, 256, 6]);
    await page.getByLabel('Rotate').selectOption('90');
    await page.locator('#pngs a[href="/mdi/wide.png?size=128&rotate=90"]').waitFor();
    await close(page);
  });
  test('without a script, links save PNGs', async () => {
    const page = await open('/icon/mdi/wide?color=f00', { javaScriptEnabled: false });
    const [png] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'PNG, 128 pixels high' }).click()]);
    assert.equal(png.suggestedFilename(), 'mdi-wide-128.png');
    const bytes = readFileSync(await png.path());
    assert.deepEqual([bytes.readUInt32BE(16), bytes.readUInt32BE(20)], [256, 128]);
    await close(page);
  });
});

describe('packs and bag', () => {
  test('packs', async () => {
    const page = await open('/packs', { javaScriptEnabled: false });
    const { packs } = await (await get('/api/v1/packs')).json();
    const items = page.getByRole('list', { name: 'Packs' }).getByRole('listitem');
    assert.equal(await items.count(), packs.length);
    for (const text of await items.filter({ has: page.locator('a[href="/pack/nc"]') }).allTextContents()) assert.match(text, /2 icons · CC-BY-NC-4.0 Non-commercial/);
    await page.getByRole('form', { name: 'Filters' }).getByLabel('Licence').selectOption('GPL-3.0-only');
    await page.getByRole('button', { name: 'Apply' }).click();
    assert.equal(await items.count(), 1);
    await close(page);
  });
  test('one image shows the samples of a pack', async () => {
    const page = await open('/packs');
    for (const pack of ['mdi', 'one', 'colors', 'hostile-0']) {
      const image = page.locator(`a[href="/pack/${pack}"] img`);
      assert.equal(await image.count(), 1, pack);
      await image.scrollIntoViewIfNeeded();
      await page.waitForFunction((key) => document.querySelector(`a[href="/pack/${key}"] img`).naturalWidth > 0, pack);
      assert.deepEqual(await image.evaluate((e) => [e.naturalWidth, e.naturalHeight]), [+(await image.getAttribute('width')), 32], pack);
    }
    assert.match(await (await get('/-/samples/mdi.svg')).text(), /M10 20v-6h4v6h5v-8h3L12 3 2 12h3v8z[^]*M0 0h24v24H0z/);
    assert.equal(await page.locator('main img').count(), await page.locator('.packs a').count());
    assert.deepEqual(page.noise, []);
    await close(page);
  });
  test('a bag that comes late is not shown over results, nor over a later bag', async () => {
    const stored = 'lucide/house,mdi/home,mdi/star';
    let release;
    const late = new Promise((done) => (release = done));
    const hold = async (route) => {
      await late;
      await route.continue().catch(() => {});
    };
    const page = await open('/bag', {}, (p) => Promise.all([p.addInitScript((list) => localStorage.setItem('bag', list), stored), p.route(/\/bag\?icons=/, hold)]));
    await page.getByRole('searchbox').pressSequentially('star');
    await page.locator('[data-testid=results][data-query=star]').waitFor();
    const answered = page.waitForResponse(/\/bag\?icons=/).catch(() => {});
    release();
    await answered;
    await page.evaluate(() => new Promise((done) => setTimeout(done, 100)));
    assert.equal(await page.locator('[data-testid=results][data-query=star]').count(), 1);
    await close(page);
  });
  test('the page of the bag follows another tab', async () => {
    const page = await open('/bag');
    const other = await page.context().newPage();
    await other.goto(site.base + '/icon/mdi/home');
    await other.getByRole('button', { name: 'Add to bag' }).click();
    await page.getByRole('list', { name: 'Bag' }).getByRole('link', { name: /home/ }).waitFor();
    const drawn = () => page.waitForFunction(() => [...document.querySelectorAll('.grid img')].every((image) => image.naturalWidth > 0));
    await drawn();
    for (const [icon, count] of [['lucide/house', 2], ['lucide/house', 1], ['lucide/camera', 2], ['mdi/home', 1]]) {
      await other.goto(site.base + '/icon/' + icon);
      await other.getByRole('button', { name: 'Add to bag' }).click();
      await page.waitForFunction((n) => document.querySelectorAll('.grid li').length === n, count);
      await drawn();
    }
    await other.goto(site.base + '/icon/lucide/camera');
    await other.getByRole('button', { name: 'Add to bag' }).click();
    await page.getByText('Your bag is empty').waitFor();
    await page.evaluate(() => { // changed on another page, after which the user goes back to this one, which the browser stored
      localStorage.setItem('bag', 'mdi/star');
      dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }));
    });
    await page.getByRole('list', { name: 'Bag' }).getByRole('link', { name: /star/ }).waitFor();
    await other.evaluate(() => localStorage.setItem('bag', 'mdi/gone'));
    await page.getByText('None of these icons').waitFor();
    await other.evaluate(() => localStorage.setItem('bag', 'mdi/gone,mdi/home'));
    await page.getByText('1 more is no longer available').waitFor();
    await page.getByRole('button', { name: 'Remove it' }).click();
    await page.getByText(/^1 icon$/).waitFor();
    assert.equal(await page.evaluate(() => localStorage.bag), 'mdi/home');
    await page.goto(site.base + '/bag?icons=mdi/gone,mdi/star'); // of somebody else
    await page.getByText('1 more is no longer available').waitFor();
    assert.ok(!(await page.getByRole('button', { name: 'Remove it' }).isVisible()));
    await other.evaluate(() => localStorage.clear());
    await page.goto(site.base + '/bag');
    await page.getByText('Your bag is empty').waitFor();
    await close(page);
  });
  test('the bag is stored, shared, and survives refused storage', async () => {
    const page = await open('/icon/mdi/home');
    const add = page.getByRole('button', { name: 'Add to bag' });
    assert.equal(await page.getByTestId('bag-link').textContent(), 'Bag ');
    await add.click();
    assert.equal(await add.getAttribute('aria-pressed'), 'true');
    await page.goto(site.base + '/icon/nc/home');
    await add.click();
    assert.match(await page.getByTestId('bag-link').textContent(), /2/);
    await page.getByTestId('bag-link').click();
    const list = page.getByRole('list', { name: 'Bag' });
    await list.waitFor();
    assert.equal(await list.getByRole('listitem').count(), 2);
    assert.equal(await page.getByTestId('noncommercial').count(), 1);
    const share = await page.getByTestId('share-url').textContent();
    assert.equal(share, site.base + '/bag?icons=mdi/home,nc/home');
    const other = await open('/bag?icons=mdi/home,nc/home', { javaScriptEnabled: false });
    assert.equal(await other.getByRole('list', { name: 'Bag' }).getByRole('listitem').count(), 2);
    assert.equal(await other.getByRole('link', { name: 'Download ZIP' }).getAttribute('href'), '/-/bag/icons.zip?icons=mdi/home,nc/home');
    await close(other);
    await page.getByRole('button', { name: 'Remove home of Attic' }).click();
    await page.getByTestId('share-url').filter({ hasNotText: 'nc/home' }).waitFor();
    assert.deepEqual(page.noise, []);
    await close(page);
    const refusing = await open('/icon/mdi/home', {}, (p) => p.addInitScript(() => Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no', 'SecurityError'); } })));
    await refusing.getByRole('button', { name: 'Add to bag' }).click();
    await refusing.getByRole('status').filter({ hasText: 'stores nothing' }).waitFor();
    assert.deepEqual(refusing.noise, []);
    await close(refusing);
  });
  test('a bag of many icons', async () => {
    const names = Array.from({ length: 499 }, (_, i) => 'big/b-' + i);
    const page = await open('/icon/mdi/home', {}, (p) => p.addInitScript((list) => localStorage.getItem('bag') ?? localStorage.setItem('bag', list), names.join(',')));
    const add = page.getByRole('button', { name: 'Add to bag' });
    await add.click();
    assert.equal(await page.evaluate(() => localStorage.bag.split(',').length), 500);
    await page.goto(site.base + '/icon/mdi/star');
    await add.click();
    await page.getByRole('status').filter({ hasText: 'takes 500 icons' }).waitFor();
    await page.goto(site.base + '/bag');
    await page.getByText('500 icons').waitFor();
    const zip = await page.getByRole('link', { name: 'Download ZIP' }).getAttribute('href');
    assert.match(zip, /icons=big\/b-0,b-1,b-10,/);
    const file = await get(zip);
    assert.equal(file.status, 200);
    assert.ok((await file.arrayBuffer()).byteLength > 100_000);
    assert.equal((await get((await page.getByTestId('share-url').textContent()).slice(site.base.length))).status, 200);
    assert.deepEqual(page.noise, []);
    await close(page);
  });
  test('a withdrawn icon is gone from its page, lists and the bag', async () => {
    execFileSync(site.program, ['withdraw', '--store', 'dir:' + site.dir + '/store', 'mdi/arrow-up'], { stdio: 'ignore' });
    for (let i = 0; i < longest / 100 && (await get('/icon/mdi/arrow-up')).status !== 410; i++) await new Promise((r) => setTimeout(r, 100));
    const gone = await get('/icon/mdi/arrow-up');
    assert.equal(gone.status, 410);
    assert.equal(gone.headers.get('cache-control'), 'no-store');
    assert.match(await gone.text(), /<h1>Withdrawn[^]*href="\/icon\/mdi\/[a-z]/);
    for (const path of ['/pack/mdi', '/search?q=arrow-up', '/sitemap/mdi.xml', '/bag?icons=mdi/arrow-up']) assert.doesNotMatch(await (await get(path)).text(), /icon\/mdi\/arrow-up["<]/, path);
  });
});

describe('offline', () => {
  test('pages seen before open, others show the home page; icons and the API never pass through the worker', async () => {
    const page = await open('/', { serviceWorkers: 'allow' });
    await page.evaluate(() => navigator.serviceWorker.ready);
    await page.waitForFunction(() => navigator.serviceWorker.controller);
    await page.goto(site.base + '/icon/mdi/home');
    await page.waitForFunction(() => caches.match('/icon/mdi/home'));
    await page.context().setOffline(true);
    await page.goto(site.base + '/icon/mdi/home');
    assert.equal(await page.locator('h1').textContent(), 'home');
    for (const path of ['/pack/lucide', '/search?q=star']) {
      await page.goto(site.base + path);
      await page.getByTestId('icon-count').waitFor();
    }
    await page.context().setOffline(false);
    await page.getByRole('searchbox', { name: 'Search icons' }).fill('star'); // the query of the address
    await page.locator('[data-testid=results][data-query=star]').waitFor();
    await close(page);
  });
});
