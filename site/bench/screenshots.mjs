// Takes the screenshots of the docs from a running site: node bench/screenshots.mjs http://127.0.0.1:8080
import { mkdirSync, writeFileSync } from 'node:fs';
import { browse } from '../test/serve.mjs';

const base = process.argv[2] ?? 'http://127.0.0.1:8080';
const dir = new URL('../../docs/how-to/images/', import.meta.url);
mkdirSync(dir, { recursive: true });
const pages = { home: '/', results: '/search?q=home', icon: '/icon/mdi/rocket-launch', pack: '/pack/lucide' };
const browser = await browse();
for (const colorScheme of ['light', 'dark']) for (const width of [320, 768, 1440]) {
  const context = await browser.newContext({ colorScheme, viewport: { width, height: width === 320 ? 640 : 900 }, serviceWorkers: 'block' });
  const page = await context.newPage();
  const painter = await context.newPage(); // encodes as WebP, in the browser
  await page.bringToFront();
  for (const [name, path] of Object.entries(pages)) {
    await page.goto(base + path, { waitUntil: 'networkidle' });
    const png = (await page.screenshot()).toString('base64');
    const webp = await painter.evaluate(async (data) => {
      const image = new Image();
      image.src = 'data:image/png;base64,' + data;
      await image.decode();
      const canvas = Object.assign(document.createElement('canvas'), { width: image.width, height: image.height });
      canvas.getContext('2d').drawImage(image, 0, 0);
      return canvas.toDataURL('image/webp', 0.8).split(',')[1];
    }, png);
    writeFileSync(new URL(`${name}-${width}-${colorScheme}.webp`, dir), Buffer.from(webp, 'base64'));
  }
  await context.close();
}
await browser.close();
