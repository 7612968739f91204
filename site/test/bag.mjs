// The files of the bag in a real browser: a sprite by <use> shows what the CDN's SVGs show, the archive has its files, and cards are images.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { big } from './library.mjs';
import { longest } from './serve.mjs';
import { browser, site } from './shared.mjs';

/** Opens an empty document of the site's origin, without the policy of its pages. */
async function blank() {
  const page = await browser.newPage({ viewport: { width: 400, height: 200 } });
  page.setDefaultTimeout(longest);
  page.noise = [];
  page.on('console', (m) => page.noise.push(m.text()));
  await page.route('**/blank', (route) => route.fulfill({ contentType: 'text/html', body: '<!doctype html><body style="margin:0;font-size:0">' }));
  await page.goto(site.base + '/blank');
  return page;
}

describe('the files of the bag', () => {
  const icons = ['mdi/home', 'mdi/wide', 'colors/home', 'colors/black', 'nc/crate', 'search/home', 'big/b-31721'];

  test('a sprite by <use> shows the same pixels as the icons themselves', async () => {
    const page = await blank();
    const shot = async (markup) => {
      await page.evaluate((html) => (document.body.innerHTML = html), icons.map(markup).join(''));
      await page.evaluate(() => Promise.all([...document.images].map((i) => i.decode())));
      await page.waitForLoadState('networkidle');
      return (await page.screenshot()).toString('base64');
    };
    const want = await shot((i) => `<img src="/${i}.svg" width="48" height="48" alt="" style="object-fit:contain">`);
    const sprite = '/-/bag/sprite.svg?icons=' + icons.join(',');
    let got = await shot((i) => `<svg width="48" height="48"><use href="${sprite}#${i.replace('/', '-')}"/></svg>`);
    for (let n = 0; got !== want && n < longest / 100; n++) {
      // No event says that the browser has painted the sprite.
      await page.waitForTimeout(100);
      got = (await page.screenshot()).toString('base64');
    }
    const empty = await shot(() => '');
    assert.notEqual(want, empty);
    assert.equal(got, want);
    assert.deepEqual(page.noise, []);
    await page.close();
  });

  test('a sprite is well-formed, with unique ids, the same in any order', async () => {
    const page = await blank();
    const read = async (list) => (await fetch(site.base + '/-/bag/sprite.svg?icons=' + list.join(','))).text();
    const text = await read(icons);
    assert.equal(await read([...icons].reverse()), text);
    const found = await page.evaluate((xml) => {
      const doc = new DOMParser().parseFromString(xml, 'image/svg+xml');
      return { error: doc.querySelector('parsererror')?.textContent, ids: [...doc.querySelectorAll('[id]')].map((e) => e.id), symbols: [...doc.querySelectorAll('svg > symbol[viewBox]')].map((e) => e.id) };
    }, text);
    assert.equal(found.error, undefined);
    assert.equal(new Set(found.ids).size, found.ids.length);
    assert.deepEqual(found.symbols.sort(), icons.map((i) => i.replace('/', '-')).sort());
    assert.match(text, /<!--[^]*CC-BY-NC-4\.0[^]*-->/);
    await page.close();
  });

  test('the browser saves the archive under its name', async () => {
    const page = await browser.newPage();
    page.setDefaultTimeout(longest);
    const [download] = await Promise.all([page.waitForEvent('download'), page.goto(site.base + '/-/bag/icons.zip?icons=mdi/home,nc/crate').catch(() => {})]);
    assert.equal(download.suggestedFilename(), 'icons.zip');
    await page.close();
  });

  test('archives of a whole pack, by Info-ZIP, with ranges and conditions', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'iconedge-pack-'));
    const read = (file, name) => execFileSync('unzip', ['-p', file, name], { maxBuffer: 1 << 30 }).toString();
    for (const [kind, name, content] of [['svg', 'mdi/home.svg', await (await fetch(site.base + '/mdi/home.svg')).text()], ['react', 'mdi/home.tsx', /export default function MdiHome\(props/], ['sprite', 'sprite.svg', /<symbol id="mdi-home"/]]) {
      const address = `${site.base}/-/pack/mdi/${kind}.zip`;
      const r = await fetch(address);
      const bytes = Buffer.from(await r.arrayBuffer());
      assert.deepEqual([r.status, r.headers.get('content-type'), r.headers.get('content-disposition'), +r.headers.get('content-length')], [200, 'application/zip', `attachment; filename="mdi-${kind}.zip"`, bytes.length], kind);
      const file = join(dir, kind + '.zip');
      writeFileSync(file, bytes);
      assert.match(execFileSync('unzip', ['-t', file]).toString(), /No errors detected/);
      if (content instanceof RegExp) assert.match(read(file, name), content);
      else assert.equal(read(file, name), content);
      assert.match(read(file, 'LICENSES.md'), /Material Design Icons[^]*MIT/);
      assert.match(read(file, 'AUTHORS.txt'), /Material Design Icons by An Author, MIT/);
      const again = await fetch(address);
      assert.match(again.headers.get('cache-status'), /hit/);
      assert.equal(Buffer.compare(Buffer.from(await again.arrayBuffer()), bytes), 0);
      const part = await fetch(address, { headers: { range: 'bytes=10-19', 'if-range': r.headers.get('etag') } });
      assert.deepEqual([part.status, part.headers.get('content-range'), Buffer.from(await part.arrayBuffer()).toString('hex')], [206, `bytes 10-19/${bytes.length}`, bytes.subarray(10, 20).toString('hex')]);
      assert.equal((await fetch(address, { headers: { 'if-none-match': r.headers.get('etag') } })).status, 304);
      const head = await fetch(address, { method: 'HEAD' });
      assert.deepEqual([head.status, +head.headers.get('content-length')], [200, bytes.length]);
      assert.match(head.headers.get('ratelimit-policy'), /"pages"/);
    }
    const sprite = await blank();
    const found = await sprite.evaluate((xml) => {
      const doc = new DOMParser().parseFromString(xml, 'image/svg+xml');
      return [doc.querySelectorAll('parsererror').length, doc.querySelectorAll('svg > symbol').length, new Set([...doc.querySelectorAll('[id]')].map((e) => e.id)).size];
    }, read(join(dir, 'sprite.zip'), 'sprite.svg'));
    const icons = (await (await fetch(site.base + '/pack/mdi')).text()).match(/href="\/icon\/mdi\//g).length;
    assert.deepEqual(found, [0, icons, icons]);
    await sprite.close();
    const page = await browser.newPage({ javaScriptEnabled: false });
    page.setDefaultTimeout(longest);
    await page.goto(site.base + '/pack/big');
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download all as SVG, ZIP' }).click()]);
    assert.equal(download.suggestedFilename(), 'big-svg.zip');
    assert.match(execFileSync('unzip', ['-l', await download.path()], { maxBuffer: 1 << 30 }).toString(), new RegExp(`${big + 2} files`));
    await page.close();
    rmSync(dir, { recursive: true, force: true });
  });

  test('hostile names of packs stay text in a sprite and an archive', async () => {
    const page = await blank();
    const list = Array.from({ length: 12 }, (_, i) => `hostile-${i}/bomb`).join(',');
    const r = await page.goto(site.base + '/-/bag/sprite.svg?icons=' + list);
    assert.equal(r.status(), 200);
    assert.equal(await page.evaluate(() => document.querySelectorAll('script, parsererror, foreignObject').length), 0);
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    await page.close();
  });

  test('the card of an icon and of a pack are images of 1200 by 630', async () => {
    const page = await blank();
    for (const path of ['mdi/home', 'colors/home', 'mdi', 'hostile-0', 'hostile-3/bomb']) {
      const size = await page.evaluate(async (src) => {
        const img = new Image();
        img.src = src;
        await img.decode();
        return [img.naturalWidth, img.naturalHeight];
      }, `/-/card/${path}.png`);
      assert.deepEqual(size, [1200, 630], path);
    }
    const html = await (await fetch(site.base + '/icon/mdi/home')).text();
    assert.match(html, new RegExp(`property="og:image" content="${site.base}/-/card/mdi/home.png"`));
    await page.close();
  });
});
