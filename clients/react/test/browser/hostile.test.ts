import type { Browser } from 'puppeteer-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundle, chromium, fakeCDN, open, reacts, serve, site } from './harness';

const svg = (inside: string, attributes = '') =>
  `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 9 9" ${attributes}>${inside}<path d="M0 0h9v9z"/></svg>`;

/** SVGs that would run, load or leak something. EVIL stands for an address that must get no request. */
const hostile = [
  svg('<script>pwned = 1</script>'),
  svg('<script href="EVIL/a.js"/>'),
  svg('<SCRIPT>pwned = 1</SCRIPT>'),
  '<x:svg xmlns:x="http://www.w3.org/2000/svg"><x:script>pwned = 1</x:script></x:svg>',
  svg('<s:script xmlns:s="http://www.w3.org/2000/svg">pwned = 1</s:script>'),
  svg('<h:script xmlns:h="http://www.w3.org/1999/xhtml">pwned = 1</h:script>'),
  svg('<g><g><script>pwned = 1</script></g></g>'),
  svg(
    '<foreignObject width="9" height="9"><body xmlns="http://www.w3.org/1999/xhtml"><iframe src="EVIL/f"/></body></foreignObject>',
  ),
  svg('<iframe xmlns="http://www.w3.org/1999/xhtml" src="EVIL/f"/><img src="EVIL/i" onerror="pwned = 1"/>'),
  svg('<path onclick="pwned = 1" onmouseover="pwned = 1" d="M0 0h9v9"/>', 'onload="pwned = 1"'),
  svg('<path oNfOcus="pwned = 1" tabindex="0" autofocus="" d="M0 0"/>'),
  svg('<path x:onclick="pwned = 1" d="M0 0"/>'),
  svg(
    '<path x-init="pwned = 1" data-hx-get="EVIL/h" hx-get="EVIL/h" v-html="pwned" ng-init="pwned = 1" @click="pwned = 1" d="M0 0"/>',
  ),
  svg('<a href="javascript:pwned=1"><text>x</text></a>'),
  svg('<a xlink:href="java&#10;script:pwned=1"><text>x</text></a>'),
  svg('<use href="data:image/svg+xml,%3Csvg%20id=%27a%27%20xmlns=%27http://www.w3.org/2000/svg%27/%3E#a"/>'),
  svg('<use xlink:href="EVIL/u.svg#a"/><image href="EVIL/i.png"/><feImage href="EVIL/f.png"/>'),
  svg('<filter id="f"><feImage href="EVIL/f.png"/></filter>'),
  svg(
    '<use id="u" href="#x"><animate attributeName="href" to="javascript:pwned=1"/><set attributeName="xlink:href" to="EVIL/s"/></use>',
  ),
  svg(
    '<path d="M0 0"><set attributeName="onclick" to="pwned=1"/><animate attributeName=" onclick" values="pwned=1"/></path>',
  ),
  svg('<style>* { fill: url(EVIL/s.svg#a) } body { display: none }</style><style>@import "EVIL/s.css";</style>'),
  svg('<path style="fill: url(EVIL/s.svg#a); background: URL( \'EVIL/b\' )" d="M0 0"/>'),
  svg('<path style="background-image: image-set(&quot;EVIL/b&quot; 1x)" d="M0 0"/>'),
  svg('<path style="background: u\\72l(EVIL/b)" fill="u\\rl(EVIL/c)" d="M0 0"/>'),
  svg(
    '<path fill="url(EVIL/p.svg#a)" filter="url( EVIL/f.svg#a)" cursor="url(EVIL/c), auto" mask="url(&quot;EVIL/m#a&quot;)" d="M0 0"/>',
  ),
  svg('', 'style="background: url(EVIL/r)" fill="url(EVIL/r)"'),
  svg('<![CDATA[<script>pwned = 1</script>]]>'),
  svg('<text>&lt;script&gt;pwned = 1&lt;/script&gt;</text>'),
  svg('<handler type="application/ecmascript">pwned = 1</handler><meta http-equiv="refresh" content="0;EVIL/m"/>'),
  `<?xml-stylesheet href="EVIL/x.css"?>${svg('')}`,
  `<!DOCTYPE svg [<!ENTITY x "<script>pwned = 1</script>">]>${svg('&x;')}`,
  '<!DOCTYPE svg SYSTEM "EVIL/x.dtd">' + svg(''),
  '<html xmlns="http://www.w3.org/1999/xhtml"><script>pwned = 1</script></html>',
  `<svg viewBox="0 0 1 1"><p style="color: red"></svg>`,
  '<svg '.repeat(50_000),
  '<g>'.repeat(50_000),
  svg('<path __proto__="x" constructor="y" d="M0 0"/><constructor/><toString/>'),
];

const names: [pack: string, name: string][] = [
  ['..', '..'], ['a', '../../x'], ['a/../..', 'x'], ['a', 'x?y=1'], ['a', 'x#y'], ['/evil', 'x'], ['a', ''], ['', 'x'], ['a', '%2e%2e'], ['a\\b', 'x'], ['a', 'x.svg?'], ['a', 'é'], ['a\n', 'x'],
]; // prettier-ignore

let browser: Browser;
beforeAll(async () => void (browser = await chromium()));
afterAll(() => browser.close());

test.each(reacts)('React %s: nothing from a hostile SVG or name reaches the page', async (react) => {
  const evil = await serve((_, response) => response.end());
  const svgs = hostile.map((text) => text.replaceAll('EVIL', evil.address));
  const cdn = await fakeCDN(Object.fromEntries(svgs.map((text, i) => [`/h/i${i}.svg`, text])));
  const pages = await site(await bundle('test/browser/kit.ts', react));
  const { page, said } = await open(browser, pages.address);
  await page.evaluate(
    (base, count, names) => {
      const { h, Icon } = kit;
      kit.configureIcons({ base });
      kit.createRoot(document.getElementById('root')!).render(
        h(kit.StrictMode, null,
          Array.from({ length: count }, (_, i) => h(Icon, { key: i, pack: 'h', name: `i${i}`, fallback: h('i', null, i) })),
          names.map(([pack, name]) => h(Icon, { key: pack + name, pack: pack!, name: name!, fallback: h('u') })),
        ),
      );
    },
    cdn.address, hostile.length, names,
  ); // prettier-ignore
  await page.waitForFunction((count) => document.querySelectorAll('svg > path, i').length >= count, {}, hostile.length);
  await page.waitForNetworkIdle();
  for (const path of await page.$$('svg path'))
    await path.evaluate((node) => node.dispatchEvent(new MouseEvent('click')));

  const found = await page.evaluate(() => {
    const nodes = [...document.querySelectorAll('#root *')];
    const plain = /^(svg|g|path|text|use|animate|set|filter|feImage|image|i|u)$/;
    return {
      elements: nodes.map((node) => node.localName).filter((name) => !plain.test(name)),
      attributes: nodes
        .flatMap((node) => [...node.attributes])
        .filter(
          ({ name, value }) =>
            /^on|:on|^(data|hx|ng|[vx]-|@)/i.test(name) || /javascript:|http:|url\((?!"?#)/i.test(value),
        )
        .map(({ name, value }) => `${name}=${value}`),
      links: document.querySelectorAll('[href]:not([href^="#"])').length - 1, // the page's own icon and sheet
      pwned: 'pwned' in globalThis,
      reports,
    };
  });
  expect(found).toEqual({ elements: [], attributes: [], links: 1, pwned: false, reports: [] });
  expect(await page.$$eval('u', (all) => all.length)).toBe(names.length);
  expect(evil.asked).toEqual([]);
  expect(cdn.asked.map(({ path }) => path).filter((path) => !/^\/h\/i\d+\.svg$/.test(path))).toEqual([]);
  expect(
    said.filter(
      (words) =>
        !/@iconedge\/react: \S+ cannot be drawn: (no response, or not an SVG|404)/.test(words.replace('\n', '')),
    ),
  ).toEqual([]);
  await page.close();
  for (const one of [evil, cdn, pages]) one.close();
});
