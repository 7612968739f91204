// The server and the browser that all tests share.
import { after } from 'node:test';
import { browse, longest, serve } from './serve.mjs';

export const site = await serve('--limit', 'pages=100000/1m');
export const browser = await browse();
after(async () => {
  await browser.close();
  await site.stop();
});

/** Requests a path of the site. */
export const get = (path, init) => fetch(site.base + path, init);

/** Opens a page in a context of its own, and notes console messages, errors and requests to other hosts as noise. */
export async function open(path, options = {}, prepare = async () => {}, base = site.base) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, serviceWorkers: 'block', ...options });
  context.setDefaultTimeout(longest);
  const page = await context.newPage();
  page.noise = [];
  page.on('console', (m) => m.text().includes('Service Worker registration blocked') || page.noise.push(m.text()));
  page.on('pageerror', (e) => page.noise.push(String(e)));
  page.on('request', (r) => new URL(r.url()).origin === base || r.url().startsWith('data:') || r.url().startsWith('blob:') || page.noise.push('request to ' + r.url()));
  await prepare(page, context);
  await page.goto(base + path, { waitUntil: 'load' });
  return page;
}

export const close = (page) => page.context().close();
