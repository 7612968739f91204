// Releases of former programs, which a store still has after an upgrade. Each archive of former/ is the store of the last
// program that wrote its version of the search index; such a release has no sets, and knows no shapes of icons.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { HtmlValidate } from 'html-validate';
import { markup, run } from './serve.mjs';
import { close, open } from './shared.mjs';

describe('a release of a former program', () => {
  for (const version of ['version2', 'version3']) test(version, async () => {
    const dir = mkdtempSync(join(tmpdir(), 'iconedge-former-'));
    execFileSync('tar', ['-xzf', new URL(`former/${version}.tar.gz`, import.meta.url).pathname, '-C', dir]);
    const former = await run(dir);
    const get = (path) => fetch(former.base + path);
    const validator = new HtmlValidate(markup);
    for (const [path, status] of [
      ['/', 200], ['/search', 200], ['/search?q=home', 200], ['/search?q=hoem', 200], ['/search?q=home&pack=mdi&license=Apache-2.0&commercial=true&style=outline', 200], ['/search?q=xyzzyq', 200], ['/packs', 200],
      ['/packs?commercial=true', 200], ['/pack/mdi', 200], ['/pack/mdi?category=Home', 200], ['/icon/mdi/home', 200], ['/icon/mdi/house', 200], ['/icon/nc/home', 200], ['/icon/colors/home', 200], ['/icon/mdi/home?color=f00&size=48', 200],
      ['/bag', 200], ['/bag?icons=mdi/home,nc/home', 200], ['/docs/', 200], ['/icon/mdi/hom', 404], ['/pack/md', 404], ['/pack/mdi?page=2', 404], ['/search?page=x', 400],
      ['/-/bag/icons.zip?icons=mdi/home,nc/home', 200], ['/-/bag/sprite.svg?icons=mdi/home,nc/home', 200], ['/sitemap.xml', 200], ['/sitemap/mdi.xml', 200], ['/-/samples/mdi.svg', 200], ['/-/card/mdi.png', 200], ['/-/card/mdi/home.png', 200], ['/mdi/home.svg', 200],
    ]) {
      const r = await get(path);
      const body = await r.text();
      assert.equal(r.status, status, path);
      if (r.headers.get('content-type').startsWith('text/html')) assert.deepEqual((await validator.validateString(body)).results.flatMap((v) => v.messages).map((m) => `${path} ${m.line}: ${m.message}`), []);
    }
    const api = await (await get('/api/v1/search?q=home')).json();
    const page = await open('/', {}, undefined, former.base);
    assert.equal(await page.getByTestId('icon-count').textContent(), '8');
    await page.getByRole('searchbox', { name: 'Search icons' }).pressSequentially('home');
    await page.locator('[data-testid=results][data-query=home]').waitFor();
    const links = page.getByRole('list', { name: 'Results' }).getByRole('link');
    assert.deepEqual(await links.evaluateAll((all) => all.map((a) => a.getAttribute('href'))), api.results.map((r) => `/icon/${r.pack}/${r.name}`));
    await page.waitForFunction(() => [...document.querySelectorAll('.grid img')].every((image) => image.naturalWidth > 0));
    await links.filter({ hasText: 'Attic' }).click();
    await page.waitForURL('**/icon/nc/home');
    assert.equal(await page.getByTestId('cdn-url').textContent(), former.base + '/nc/home.svg');
    assert.equal(await page.getByTestId('noncommercial').textContent(), 'Non-commercial');
    await page.getByTestId('snippet-svg').filter({ hasText: '<svg' }).waitFor();
    await page.getByRole('button', { name: 'Add to bag' }).click();
    await page.getByTestId('bag-link').click();
    await page.getByRole('list', { name: 'Bag' }).getByRole('link', { name: 'home Attic' }).waitFor();
    assert.deepEqual(page.noise, []);
    await close(page);
    await former.stop();
  });
});
