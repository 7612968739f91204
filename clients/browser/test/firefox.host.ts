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

/** Does something in the browser's own window. */
async function inBrowser<T>(run: () => Promise<T>): Promise<T> {
  await firefox.call('Marionette:SetContext', { value: 'chrome' });
  try {
    return await run();
  } finally {
    await firefox.call('Marionette:SetContext', { value: 'content' });
  }
}

test.skipIf(!path)('saving asks for access to the address alone', async () => {
  const granted = () =>
    firefox.run<string[]>(
      `return WebExtensionPolicy.getByID('icons@iconedge.example').allowedOrigins.patterns
         .map((p) => p.pattern).filter((p) => p.startsWith('http'))`,
    );
  await firefox.call('WebDriver:Navigate', { url: pages + 'options.html' });
  await firefox.until(`document.getElementById('baseUrl').value`);
  expect(await inBrowser(granted)).toEqual([]);
  await firefox.click('[type=submit]');
  const asked = await inBrowser(async () => {
    await firefox.until(`PopupNotifications.panel.state === 'open'`);
    const text = await firefox.run<string>(`return PopupNotifications.panel.textContent`);
    await firefox.run(`PopupNotifications.panel.firstElementChild.button.click()`);
    return text;
  });
  expect(asked).toContain('127.0.0.1');
  await firefox.until(`document.getElementById('status').textContent.includes('saved')`);
  expect(await inBrowser(granted)).toEqual(['http://127.0.0.1/*']);
});

test.skipIf(!path)('in the address bar the keyword gives at most six icons, and Enter opens the first', async () => {
  const rows = `[...gURLBar.view.panel.querySelectorAll('.urlbarView-row')].map((r) => r.textContent)`;
  const [icons, opened] = await inBrowser(async () => {
    await firefox.run(`gURLBar.value = ''`);
    await firefox.type('#urlbar-input', 'icon bar');
    await firefox.until(`${rows}.some((text) => text.includes('mdi/'))`);
    const found = await firefox.run<string[]>(`return ${rows}`);
    await firefox.type('#urlbar-input', '\uE007'); // Enter
    await firefox.until(`gBrowser.currentURI.spec.endsWith('.svg')`);
    return [found.filter((text) => text.includes('mdi/bar')), await firefox.run(`return gBrowser.currentURI.spec`)];
  });
  expect(icons).toHaveLength(6);
  expect(icons[0]).toMatch(/mdi\/bar-\d+ \(Apache-2.0\)/);
  expect(opened).toMatch(new RegExp(`^${inject('edge')}/mdi/bar-\\d+\\.svg$`));
});

test.skipIf(!path)('Enter before the search has ended opens the first icon of what was typed', async () => {
  await inBrowser(async () => {
    await firefox.run(`gURLBar.value = ''`);
    await firefox.type('#urlbar-input', 'icon home\uE007');
    await firefox.until(`gBrowser.currentURI.spec.endsWith('/home.svg')`);
  });
});
