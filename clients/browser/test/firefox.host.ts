// The extension in a real Firefox, with real keys, and the service of the program in ICONEDGE.
import { execFileSync } from 'node:child_process';
import axe from 'axe-core';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { Firefox } from './marionette';

const path = execFileSync('sh', ['-c', 'command -v firefox-esr firefox | head -1']).toString().trim();
if (!path) console.log('SKIPPED: the extension in Firefox, because Firefox is not installed');

let firefox: Firefox;
let pages: string;

beforeAll(async () => {
  if (!path) return;
  firefox = await Firefox.start(path);
  pages = await firefox.install(new URL('../build/firefox', import.meta.url).pathname, 'icons@iconedge.example');
  const settings = JSON.stringify({ baseUrl: inject('edge'), insertAs: 'svg' });
  await firefox.call('WebDriver:Navigate', { url: pages + 'options.html' });
  await firefox.run(`return chrome.storage.local.set({ settings: ${settings} })`);
}, 60_000);
afterAll(() => firefox?.stop());

test.skipIf(!path)('typing searches over plain HTTP, and Enter copies with the credit', async () => {
  await firefox.call('WebDriver:Navigate', { url: pages + 'popup.html' });
  await firefox.until(`document.activeElement.id === 'q'`);
  await firefox.type('#q', 'home');
  await firefox.until(`document.getElementById('status').textContent.includes('found')`);
  await firefox.until(`document.images.length && [...document.images].every((i) => i.naturalWidth > 0)`);
  const first = await firefox.run<string>(`return document.querySelector('[role=option]').dataset.icon`);
  await firefox.type('#q', '\uE007'); // Enter
  await firefox.until(`document.getElementById('status').textContent.includes('Copied ${first}')`);
});

test.skipIf(!path)('axe finds nothing', async () => {
  const found = await firefox.run<string[]>(
    axe.source + '; return axe.run(document).then((r) => r.violations.map((v) => v.id + v.nodes.map((n) => n.html)))',
  );
  expect(found).toEqual([]);
});
