// Crawls PAGES (2,000) pages of the site over the real library, and checks their status, header fields, headings, titles,
// canonical addresses, links, images, licences and markup against the API and the sitemaps. A fault is a line; with faults
// the status is 1. With ICONEDGE_DATA it runs over the library that is published there. SEED starts the choice of pages.
import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HtmlValidate } from 'html-validate';
import { markup, run } from '../test/serve.mjs';

const data = process.env.ICONEDGE_DATA;
const dir = data ?? mkdtempSync(join(tmpdir(), 'iconedge-crawl-'));
if (!data) execFileSync(process.env.ICONEDGE, ['publish', '--store', 'dir:' + join(dir, 'store'), process.env.LIBRARY], { stdio: ['ignore', 'ignore', 'inherit'] });
const site = await run(dir, ...['pages', 'packs', 'icon', 'search'].flatMap((limit) => ['--limit', limit + '=off']));
const most = +(process.env.PAGES ?? 2000);

let state = +(process.env.SEED ?? 1);
/** A number below n, the same in each run (a linear congruential generator). */
const random = (n) => ((state = (Math.imul(state, 1664525) + 1013904223) >>> 0), Math.floor((state / 2 ** 32) * n));
const sample = (list, n) => {
  const rest = [...list];
  const out = [];
  while (out.length < n && rest.length) out.push(rest.splice(random(rest.length), 1)[0]);
  return out;
};

const faults = [];
const fault = (path, ...what) => faults.push(`${path}: ${what.join(' ')}`);
const equal = (path, name, got, want) => got === want || fault(path, name, `is ${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
const decoded = (s) => s?.replace(/&(?:#(\d+)|#x([0-9a-f]+)|amp|lt|gt|quot);/gi, (all, n, x) => (n || x ? String.fromCodePoint(parseInt(n ?? x, n ? 10 : 16)) : { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"' }[all]));
const attributes = (html, pattern) => [...html.matchAll(pattern)].map((m) => decoded(m[1]));
const text = (html, id) => decoded(new RegExp(`data-testid="${id}"[^>]*>([^]*?)</(?:code|span|a|strong|b)>`).exec(html)?.[1]?.replace(/<[^>]+>/g, ''));
const get = async (path, method = 'GET') => {
  const ask = () => fetch(site.base + path, { method, redirect: 'manual' });
  return ask().catch(ask); // the edge may have closed an idle connection
};
const json = async (path) => (await get(path)).json();
/** Calls f for each of the list, four at a time. */
const each = async (list, f) => {
  const rest = [...list];
  await Promise.all([1, 2, 3, 4].map(async () => {
    while (rest.length) await f(rest.shift());
  }));
};

const titles = new Map();
const descriptions = new Map();
const links = new Set();
const images = new Set();
const validator = new HtmlValidate(markup);
let crawled = 0;

/** Checks a page, and returns its HTML. */
async function page(path, indexed) {
  const r = await get(path);
  const html = await r.text();
  const field = (name) => r.headers.get(name);
  equal(path, 'the status', r.status, 200);
  equal(path, 'Content-Type', field('content-type'), 'text/html; charset=utf-8');
  if (!/^default-src 'none'/.test(field('content-security-policy')) || !field('etag') || !/^pages /.test(field('surrogate-key'))) fault(path, 'lacks fields');
  const levels = attributes(html, /<h([1-6])[ >]/g).join('');
  if (!/^1(2(3)*)*$/.test(levels)) fault(path, 'has headings', levels);
  const title = /<title>([^<]+)</.exec(html)?.[1];
  const description = /name="description" content="([^"]+)"/.exec(html)?.[1];
  const canonical = decoded(/rel="canonical" href="([^"]+)"/.exec(html)?.[1]);
  if (indexed && canonical === site.base + path) {
    for (const [kind, map, value] of [['title', titles, title], ['description', descriptions, description]]) {
      if (!value || (map.get(value) ?? path) !== path) fault(path, 'has the', kind, 'of', map.get(value) ?? 'nothing', value);
      map.set(value, path);
    }
  }
  equal(path, 'canonical or noindex', !!canonical, indexed);
  const ids = attributes(html, /\sid="([^"]+)"/g);
  if (new Set(ids).size !== ids.length) fault(path, 'repeats an id');
  for (const id of attributes(html, /aria-(?:labelledby|describedby)="([^"]+)"/g)) if (!ids.includes(id)) fault(path, 'names no element', id);
  for (const a of attributes(html, /<a [^>]*?href="([^"]+)"/g)) if (a.startsWith('/') && !a.startsWith('/-/pack/')) links.add(a.split('#')[0]); // making the archives of all packs takes long
  for (const tag of html.match(/<img [^>]+>/g) ?? []) {
    if (!/ width="\d+"/.test(tag) || !/ height="\d+"/.test(tag) || !/ alt="/.test(tag)) fault(path, tag);
    const src = decoded(/ src="([^"]+)"/.exec(tag)[1]);
    if (src.startsWith('/')) images.add(src);
    else fault(path, 'shows', src);
  }
  if (crawled++ % 10 === 0) {
    const report = await validator.validateString(html);
    for (const m of report.results.flatMap((one) => one.messages)) fault(path, m.line, m.ruleId, m.message);
  }
  return { html, canonical };
}

/** Checks what a page says about a pack's licence. */
function licence(path, html, pack) {
  equal(path, 'the licence', text(html, 'license'), pack.license);
  equal(path, 'the address of the licence', decoded(/rel="license"[^>]*href="([^"]+)"/.exec(html)?.[1]), pack.license_url);
  equal(path, 'the credit', text(html, 'attribution'), pack.attribution);
  equal(path, 'Non-commercial', text(html, 'noncommercial'), pack.commercial_use ? undefined : 'Non-commercial');
}

const { packs } = await json('/api/v1/packs');
for (const path of ['/', '/packs']) await page(path, true);
for (const path of ['/search', '/bag', '/bag?icons=mdi/home']) await page(path, false);

const locations = async (path) => attributes(await (await get(path)).text(), /<loc>([^<]+)</g).map((a) => a.slice(site.base.length));
const maps = await locations('/sitemap.xml');
equal('/sitemap.xml', 'the number of packs', maps.length, packs.length);

const icons = [];
await each(packs, async (pack) => {
  const path = '/pack/' + pack.pack;
  const { html } = await page(path, true);
  licence(path, html, pack);
  const inMap = await locations(`/sitemap/${pack.pack}.xml`);
  equal(path, 'the number of icons in the sitemap', inMap.length - 1, pack.count);
  icons.push(...sample(inMap.filter((a) => a.startsWith('/icon/')), Math.ceil(most / packs.length)));
});

for (const pack of sample(packs.filter((p) => p.count > 400 && p.count < 6000), 4)) { // each icon is on exactly one page
  const seen = new Map();
  for (let path = '/pack/' + pack.pack; path;) {
    const { html } = await page(path, true);
    for (const a of attributes(/<ul class="grid[^]*?<\/ul>/.exec(html)[0], /href="([^"]+)"/g)) seen.set(a, (seen.get(a) ?? 0) + 1);
    path = decoded(/rel="next" href="([^"]+)"/.exec(html)?.[1]);
  }
  if (seen.size !== pack.count || [...seen.values()].some((n) => n > 1)) fault('/pack/' + pack.pack, 'lists', seen.size, 'of', pack.count, 'icons, or one twice');
}

for (const q of ['home', 'arrow left', 'user', 'logo', 'weather', 'heart', 'calendar', 'credit card', 'github', 'sun', 'lock', 'cloud upload', 'phone', 'flag', 'smile', 'bike', 'chart', 'mail', 'play', 'xylophone']) {
  const path = '/search?q=' + encodeURIComponent(q).replaceAll('%20', '+');
  const { html } = await page(path, false);
  const { total, results } = await json(`/api/v1/search?limit=50&q=${encodeURIComponent(q)}`);
  equal(path, 'the total', text(html, 'total'), String(total));
  const list = attributes(/<ul class="grid[^]*?<\/ul>/.exec(html)?.[0] ?? '', /href="([^"]+)"/g);
  equal(path, 'the order', list.slice(0, results.length).join(' '), results.map((r) => `/icon/${r.pack}/${r.name}`).join(' '));
  equal(path, 'Non-commercial', (html.match(/<small class="nc">/g) ?? []).length >= results.filter((r) => !r.commercial_use).length, true);
}

const byKey = new Map(packs.map((p) => [p.pack, p]));
await each(sample(icons, most - crawled), async (path) => {
  const [pack, name] = path.split('/').slice(2);
  const { html, canonical } = await page(path, true);
  equal(path, 'the canonical address', canonical, site.base + path);
  const { svg, metadata } = await json(`/api/v1/icon/${pack}/${name}`);
  equal(path, 'the address', text(html, 'cdn-url'), metadata.url);
  equal(path, 'the h1', decoded(/<h1>([^<]+)</.exec(html)?.[1]), name);
  licence(path, html, byKey.get(pack));
  equal(path, 'the credit of the API', metadata.attribution, byKey.get(pack).attribution);
  const code = text(html, 'snippet-svg');
  if (code) equal(path, 'the SVG', code, svg);
  const ld = JSON.parse(/<script type="application\/ld\+json">([^<]+)</.exec(html)[1]);
  equal(path, 'JSON-LD', [ld.contentUrl, ld.creditText, ld.license].join(' '), [metadata.url, metadata.attribution, byKey.get(pack).license_url].join(' '));
  if (/data-class="m"/.test(html) !== (metadata.monochrome && !metadata.color)) fault(path, 'shows its colours wrongly');
});

const wanted = [...sample([...links].filter((a) => !a.startsWith('/icon/')), 500), ...sample([...links].filter((a) => a.startsWith('/icon/')), 500)];
await each(wanted, async (path) => equal(path, 'the status of a link', (await get(path, 'HEAD')).status, 200));
await each(sample([...images], 500), async (path) => {
  const r = await get(path, 'HEAD');
  if (r.status !== 200 || r.headers.get('content-type') !== 'image/svg+xml') fault(path, 'is no image');
});

await (data ? site.end() : site.stop());
for (const line of faults.slice(0, 50)) console.log(line);
console.log(`${crawled} pages of the site, ${wanted.length} of ${links.size} links, ${Math.min(500, images.size)} of ${images.size} images: ${faults.length} faults`);
process.exit(faults.length ? 1 : 0);
