import type { Browser } from 'puppeteer-core';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { bundle, chromium, fakeCDN, open, pixels, reacts, site } from './harness';

const square =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><path fill="currentColor" d="M0 0h24v24H0z"/></svg>';
const gradient =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20" stroke="url(#a)"><linearGradient id="a"><stop stop-color="red"/></linearGradient>' +
  '<path id="b" fill="url(#a)" d="M0 0h10v20H0z"/><use xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="#b" x="10"/>' +
  '<animate id="c" attributeName="x" begin="0;c.end" dur="9s" values="0;0"/></svg>';

describe.each(reacts)('React %s, in a browser', (react) => {
  let browser: Browser;
  let close: () => void;
  let address: string;
  beforeAll(async () => {
    browser = await chromium();
    const pages = await site(await bundle('test/browser/kit.ts', react));
    ({ address } = pages);
    close = pages.close;
  });
  afterAll(async () => {
    await browser.close();
    close();
  });

  /** Opens the site. At the end, console and policy have no messages except the expected ones. */
  async function visit(
    act: (page: Awaited<ReturnType<typeof open>>['page']) => Promise<void>,
    expected: unknown[] = [],
  ) {
    const { page, said } = await open(browser, address);
    await act(page);
    expect(await page.evaluate(() => reports)).toEqual([]);
    expect(said).toEqual(expected);
    await page.close();
  }

  test('from the edge: sizes, colours, an icon with its own', () =>
    visit(async (page) => {
      await page.evaluate((base) => {
        const { h, Icon } = kit;
        kit.configureIcons({ base: base + '/' });
        kit
          .createRoot(document.getElementById('root')!)
          .render(
            h(
              kit.StrictMode,
              null,
              h(Icon, { pack: 'mdi', name: 'square', size: 40 }),
              h(Icon, { pack: 'mdi', name: 'square', size: '40px', color: '#f00' }),
              h(Icon, { pack: 'paint', name: 'styled', size: 40, color: '#f00' }),
              h(Icon, { pack: 'paint', name: 'gradient', size: 40 }),
              h(Icon, { pack: 'mdi', name: 'square' }),
              h(Icon, { pack: 'nc', name: 'blue', size: 40 }),
              h(Icon, { pack: 'nc', name: 'blue', size: 40, color: '#f00' }),
            ),
          );
      }, inject('edge'));
      await page.waitForFunction(() => document.querySelectorAll('svg > path, svg > g').length === 7);
      const seen = await pixels(page, [
        [20, 20],
        [20, 60],
        [20, 100],
        [5, 140],
        [35, 140],
        [8, 168],
        [20, 168],
        [20, 196],
        [20, 236],
      ]);
      expect(seen).toEqual([
        ...['#0000ff', '#ff0000', '#00ff00', '#0000ff', '#0000ff', '#0000ff', '#ffffff'],
        ...['#1a1f71', '#ff0000'],
      ]);
      expect(await page.$$eval('svg', (all) => all.map((svg) => svg.getAttribute('viewBox')))).toEqual([
        '0 0 24 24',
        '0 0 24 24',
        '0 0 10 10',
        '0 0 20 20',
        '0 0 24 24',
        '0 0 24 24',
        '0 0 24 24',
      ]);
    }));

  test('a width of strokes is a variant of the CDN, and no attribute of the svg', async () => {
    const cdn = await fakeCDN({ '/a/b.svg': square, '/a/b.svg?stroke=1.5': square.replace('<path', '<g/><path') });
    await visit(
      async (page) => {
        await page.evaluate((base) => {
          const { h, Icon } = kit;
          kit.configureIcons({ base });
          const root = kit.createRoot(document.getElementById('root')!);
          root.render(
            [undefined, 1.5, '1&x=y'].map((strokeWidth, key) =>
              h(Icon, { key, pack: 'a', name: 'b', strokeWidth, fallback: 'no' }),
            ),
          );
        }, cdn.address);
        await page.waitForFunction(
          () => document.querySelectorAll('svg > path').length === 2 && document.body.innerText === 'no',
        );
        expect(await page.$$eval('svg', (all) => all.map((svg) => [svg.querySelectorAll('g').length, svg.hasAttribute('stroke-width')]))).toEqual(
        [[0, false], [1, false]],
      ); // prettier-ignore
      },
      ['warn: @iconedge/react: a/b?stroke=1&x=y cannot be drawn: 404'],
    );
    expect(cdn.asked.map(({ path }) => path).sort()).toEqual(['/a/b.svg', '/a/b.svg?stroke=1.5']);
    cdn.close();
  });

  test('one request without a preflight for 200 copies in StrictMode; from memory when mounted again; nothing moves', async () => {
    let answer = () => {};
    const cdn = await fakeCDN({ '/mdi/home.svg': (response) => (answer = () => response.end(square)) });
    await visit(async (page) => {
      await page.evaluate((base) => {
        const { h, Icon } = kit;
        kit.configureIcons({ base });
        const copies = Array.from({ length: 200 }, (_, key) => h(Icon, { key, pack: 'mdi', name: 'home', size: 20 }));
        const list = h(kit.StrictMode, null, copies, h('p', null, 'below'));
        const root = kit.createRoot(document.getElementById('root')!);
        root.render(list);
        Object.assign(globalThis, { root, list });
      }, cdn.address);
      await page.waitForFunction(() => document.querySelectorAll('svg').length === 200);
      await expect.poll(() => cdn.asked.length).toBe(1);
      answer();
      await page.waitForFunction(() => document.querySelectorAll('svg path').length === 200);
      const again = await page.evaluate(() => {
        const { root, list } = globalThis as unknown as { root: import('react-dom/client').Root; list: never };
        kit.flushSync(() => root.render(null));
        kit.flushSync(() => root.render(list));
        return document.querySelectorAll('svg path').length;
      });
      expect(again).toBe(200);
      expect(await page.evaluate(() => shifts)).toBe(0);
    });
    expect(cdn.asked.map(({ method, path }) => `${method} ${path}`)).toEqual(['GET /mdi/home.svg']);
    expect(cdn.asked[0]!.headers.cookie).toBeUndefined();
    cdn.close();
  });

  test('a render of its parent leaves the shapes alone', async () => {
    const cdn = await fakeCDN({ '/mdi/home.svg': square });
    await visit(async (page) => {
      const touched = await page.evaluate(async (base) => {
        const { h, Icon } = kit;
        kit.configureIcons({ base });
        const element = document.getElementById('root')!;
        const root = kit.createRoot(element);
        const draw = (color: string) => h(Icon, { pack: 'mdi', name: 'home', color, ref: () => {}, onClick: () => {} });
        root.render(draw('red'));
        await new Promise<void>((drawn) => {
          const watch = new MutationObserver(() => element.querySelector('path') && drawn());
          watch.observe(element, { childList: true, subtree: true });
        });
        let children = 0;
        const watch = new MutationObserver((changes) => (children += changes.length));
        watch.observe(element, { childList: true, subtree: true });
        for (const color of ['green', 'blue', 'tan']) kit.flushSync(() => root.render(draw(color)));
        await Promise.resolve();
        return [children, getComputedStyle(element.querySelector('path')!).fill];
      }, cdn.address);
      expect(touched).toEqual([0, 'rgb(210, 180, 140)']);
    });
    cdn.close();
  });

  test('in a DOM without animations, such as jsdom', async () => {
    const cdn = await fakeCDN({ '/mdi/home.svg': (response) => response.end(square) });
    await visit(async (page) => {
      await page.evaluate((base) => {
        Reflect.deleteProperty(SVGSVGElement.prototype, 'setCurrentTime');
        kit.configureIcons({ base });
        kit.createRoot(document.getElementById('root')!).render(kit.h(kit.Icon, { pack: 'mdi', name: 'home' }));
      }, cdn.address);
      await page.waitForSelector('svg > path');
    });
    cdn.close();
  });

  test('ids are of each copy, and references point into it', async () => {
    const cdn = await fakeCDN({ '/a/b.svg': gradient });
    await visit(async (page) => {
      await page.evaluate((base) => {
        const { h, Icon } = kit;
        kit.configureIcons({ base });
        kit
          .createRoot(document.getElementById('root')!)
          .render([1, 2].map((key) => h(Icon, { key, pack: 'a', name: 'b', size: 30 })));
      }, cdn.address);
      await page.waitForFunction(() => document.querySelectorAll('use').length === 2);
      const loose = await page.evaluate(() => {
        const ids = [...document.querySelectorAll('svg [id]')].map((node) => node.id);
        const out = [...document.querySelectorAll('svg')].flatMap((svg) =>
          [svg, ...svg.querySelectorAll('*')].flatMap((node) =>
            [...node.attributes]
              .flatMap(({ value }) => [...value.matchAll(/(?:^|url\()#([^)]+)|([^;]+)(?=\.end)/g)])
              .map(([, reference, moment]) => reference ?? moment!)
              .filter((id) => !svg.querySelector('#' + id)),
          ),
        );
        return { ids: ids.length, different: new Set(ids).size, out };
      });
      expect(loose).toEqual({ ids: 6, different: 6, out: [] });
      expect(
        await pixels(page, [
          [5, 15],
          [25, 15],
          [5, 45],
          [25, 45],
        ]),
      ).toEqual(Array(4).fill('#ff0000'));
      // A browser draws nothing by a gradient whose svg is not displayed, so the second must not need the first.
      await page.evaluate(() => (document.querySelector('svg')!.style.display = 'none'));
      expect(
        await pixels(page, [
          [5, 15],
          [25, 15],
        ]),
      ).toEqual(Array(2).fill('#ff0000'));
    });
    cdn.close();
  });

  test('the last icon asked for is drawn; unmounted while loading it is no error, and the request ends', async () => {
    const waiting: Record<string, () => void> = {};
    let ended = '';
    const late = (name: string) => (response: import('node:http').ServerResponse) => {
      waiting[name] = () => response.end(square.replace('24 24', name));
      response.on('close', () => response.writableFinished || (ended += name));
    };
    const cdn = await fakeCDN({ '/a/one.svg': late('1 1'), '/a/two.svg': late('2 2'), '/a/three.svg': late('3 3') });
    await visit(async (page) => {
      await page.evaluate((base) => {
        kit.configureIcons({ base });
        const root = kit.createRoot(document.getElementById('root')!);
        const show = (name: string | null) =>
          kit.flushSync(() => root.render(name && kit.h(kit.Icon, { pack: 'a', name })));
        show('one');
        Object.assign(globalThis, { show });
      }, cdn.address);
      const show = (name: string | null) =>
        page.evaluate((name) => (globalThis as unknown as { show: (name: string | null) => void }).show(name), name);
      await expect.poll(() => waiting['1 1']).toBeDefined();
      await show('two');
      await expect.poll(() => waiting['2 2']).toBeDefined();
      await expect.poll(() => ended).toBe('1 1');
      waiting['2 2']!();
      await page.waitForSelector('svg[viewBox="0 0 2 2"]');
      await show('three');
      expect(await page.$$eval('svg path', (all) => all.length)).toBe(0);
      await expect.poll(() => waiting['3 3']).toBeDefined();
      await show(null);
      await expect.poll(() => ended).toBe('1 13 3');
    });
    cdn.close();
  });

  test('unknown and failing icons: a box, or the fallback; a 404 is remembered, a failure is not', async () => {
    const svgs: Parameters<typeof fakeCDN>[0] = {
      '/a/broken.svg': 500,
      '/a/html.svg': '<!doctype html><p>hello',
      '/a/cut.svg': (response) => response.destroy(),
      '/a/good.svg': square,
    };
    const cdn = await fakeCDN(svgs);
    const box = { pack: 'a', size: 30 };
    await visit(
      async (page) => {
        await page.evaluate(
          (base, box) => {
            const { h, Icon } = kit;
            kit.configureIcons({ base });
            const root = kit.createRoot(document.getElementById('root')!);
            const names = ['none', 'broken', 'html', 'cut', 'good', '../x'];
            const mount = () =>
              root.render([
                ...names.map((name) => h(Icon, { key: name, ...box, name })),
                h(Icon, { key: 'f', ...box, name: 'none', fallback: h('b', null, 'no') }),
              ]);
            mount();
            Object.assign(globalThis, { remount: () => kit.flushSync(() => root.render(null)) ?? mount() });
          },
          cdn.address,
          box,
        );
        const remount = () => page.evaluate(() => (globalThis as unknown as { remount: () => void }).remount());
        await page.waitForFunction(
          () => document.querySelector('b') && document.querySelectorAll('svg path').length === 1,
        );
        await page.waitForNetworkIdle();
        const boxes = await page.$$eval('svg', (all) => all.map((svg) => [svg.clientWidth, svg.clientHeight]));
        expect(boxes).toEqual(Array(6).fill([30, 30]));
        await remount();
        await page.waitForNetworkIdle();
        svgs['/a/broken.svg'] = svgs['/a/html.svg'] = svgs['/a/cut.svg'] = square;
        await remount();
        await page.waitForFunction(() => document.querySelectorAll('svg path').length === 4);
      },
      expect.arrayContaining([
        'warn: @iconedge/react: a/none cannot be drawn: 404',
        'warn: @iconedge/react: a/broken cannot be drawn: 500',
        'warn: @iconedge/react: a/html cannot be drawn: no response, or not an SVG',
        'warn: @iconedge/react: a/../x cannot be drawn: 404',
      ]) as unknown as unknown[],
    );
    const times = (path: string) => cdn.asked.filter((one) => one.path === path).length;
    expect([times('/a/none.svg'), times('/a/broken.svg'), times('/a/html.svg')]).toEqual([1, 3, 3]);
    expect(cdn.asked.filter(({ path }) => !/^\/a\/\w+\.svg$/.test(path))).toEqual([]);
    cdn.close();
  });

  test('without a base: boxes, no request, one notice; drawn as soon as there is one', async () => {
    const cdn = await fakeCDN({ '/a/good.svg': square });
    await visit(
      async (page) => {
        await page.evaluate(() => {
          const copies = [1, 2, 3].map((key) => kit.h(kit.Icon, { key, pack: 'a', name: 'good', size: 30 }));
          kit.createRoot(document.getElementById('root')!).render(kit.h(kit.StrictMode, null, copies));
        });
        await page.waitForFunction(() => document.querySelectorAll('svg').length === 3);
        await page.waitForNetworkIdle();
        expect(cdn.asked).toEqual([]);
        await page.evaluate((base) => kit.configureIcons({ base }), cdn.address + '//');
        await page.waitForFunction(() => document.querySelectorAll('svg path').length === 3);
      },
      ['warn: @iconedge/react: configureIcons({ base }) was not called'],
    );
    expect(cdn.asked.map(({ path }) => path)).toEqual(['/a/good.svg']);
    cdn.close();
  });

  test('decoration, or an image with a name; given attributes reach the svg', async () => {
    const cdn = await fakeCDN({
      '/a/good.svg': square.replace('viewBox', 'fill="none" stroke-linejoin="round" viewBox'),
    });
    await visit(async (page) => {
      await page.evaluate((base) => {
        const { h, Icon } = kit;
        kit.configureIcons({ base });
        const icon = { pack: 'a', name: 'good' };
        const ref = (svg: SVGSVGElement | null) => svg?.setAttribute('data-ref', svg.tagName);
        kit
          .createRoot(document.getElementById('root')!)
          .render([
            h(Icon, { ...icon, key: 1 }),
            h(Icon, { ...icon, key: 2, title: 'Home & more' }),
            h(Icon, { ...icon, key: 3, 'aria-label': 'House' }),
            h(Icon, {
              ...icon,
              key: 4,
              ref,
              className: 'c',
              style: { opacity: 0.5 },
              id: 'i',
              strokeLinejoin: 'bevel',
              width: 7,
              onClick: (event) => event.currentTarget.classList.add('clicked'),
              ...{ 'data-x': 'y' },
            }),
          ]);
      }, cdn.address);
      await page.waitForFunction(() => document.querySelectorAll('svg path').length === 4);
      await page.click('#i');
      const tree = await page.accessibility.snapshot();
      expect(tree!.children!.map(({ role, name }) => [role, name])).toEqual([
        ['image', 'Home & more'],
        ['image', 'House'],
      ]);
      const last = await page.$eval('#i', (svg) => [
        svg.getAttribute('class'),
        (svg as SVGSVGElement).style.opacity,
        svg.getAttribute('stroke-linejoin'),
        svg.getAttribute('fill'),
        svg.getAttribute('width'),
        svg.getAttribute('height'),
        svg.getAttribute('data-x'),
        svg.getAttribute('data-ref'),
        svg.getAttribute('aria-hidden'),
      ]);
      expect(last).toEqual(['c clicked', '0.5', 'bevel', 'none', '7', '1em', 'y', 'svg', 'true']);
    });
    cdn.close();
  });
});
