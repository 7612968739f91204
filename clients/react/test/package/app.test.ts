import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { chromium, open, pixels, serve } from '../browser/harness';
import { pack, project, root, run } from './project';

const main = (base: string) => `
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { configureIcons, Icon } from '@iconedge/react';
import MdiSquare from './icons/mdi/square';

configureIcons({ base: '${base}' });
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <p>{Array.from({ length: 50 }, (_, i) => <Icon key={i} pack="paint" name="styled" size={20} />)}</p>
    <p><MdiSquare width={40} height={40} color="#f0f" /></p>
    <p id="below">below</p>
  </StrictMode>,
);
`;

const files = (base: string, tarball: string) => ({
  'package.json': JSON.stringify({
    name: 'app', private: true, type: 'module',
    dependencies: { '@iconedge/react': `file:${tarball}`, react: `file:${root}/node_modules/react`, 'react-dom': `file:${root}/node_modules/react-dom` },
  }), // prettier-ignore
  'index.html':
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>app</title><link rel="icon" href="data:,">' +
    '<link rel="stylesheet" href="/main.css"></head><body><div id="root"></div><script type="module" src="/main.tsx"></script></body></html>',
  'main.css': 'body, p { margin: 0; font-size: 0; width: 1000px } svg { vertical-align: top }',
  'tsconfig.json': '{"compilerOptions":{"jsx":"react-jsx"}}', // as in Vite's template
  'main.tsx': main(base),
});

let app: Awaited<ReturnType<typeof project>>;
beforeAll(async () => void (app = await project()));
afterAll(() => app.remove());

test('a new Vite app installs the tarball and shows icons of both kinds, with few requests and nothing that moves', async () => {
  const { tarball } = await pack(app.folder);
  for (const [path, text] of Object.entries(files(inject('edge'), tarball))) await app.write(path, text);
  const inside = { cwd: app.folder };
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', '--install-links=false'], inside);
  await run(
    'node',
    ['node_modules/.bin/iconedge-react', 'add', 'mdi/square', '--api', inject('edge'), '--out', 'icons'],
    inside,
  );
  await run('node', [join(root, 'node_modules/vite/bin/vite.js'), 'build', '--logLevel', 'error'], inside);

  const site = await serve((path, response) => {
    const file = path === '/' ? '/index.html' : path;
    const type = { html: 'text/html', js: 'text/javascript', css: 'text/css' }[file.split('.').pop()!];
    response.setHeader('Content-Type', type!);
    response.end(readFileSync(join(app.folder, 'dist', file)));
  });
  const browser = await chromium();
  const { page, said } = await open(browser, 'about:blank');
  const asked: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  await page.evaluateOnNewDocument(() => {
    globalThis.shifts = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) shifts += (entry as PerformanceEntry & { value: number }).value;
    }).observe({ type: 'layout-shift', buffered: true });
  });
  await page.goto(site.address);
  await page.waitForFunction(() => document.querySelectorAll('svg > mask').length === 50);

  expect(await pixels(page, [[5, 5], [500, 15], [20, 40]])).toEqual(['#00ff00', '#00ff00', '#ff00ff']); // prettier-ignore
  expect(asked.filter((url) => url.startsWith(inject('edge')))).toEqual([`${inject('edge')}/paint/styled.svg`]);
  expect(asked.filter((url) => url.startsWith(site.address))).toHaveLength(3);
  expect(await page.evaluate(() => shifts)).toBe(0);
  expect(said).toEqual([]);
  await browser.close();
  site.close();
});
