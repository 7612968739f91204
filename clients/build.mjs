// Builds the plugins in TypeScript into build folders, from which tools/plugins makes the packages. VERSION: v1.2.3.
import { build } from 'esbuild';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';

const here = (path) => new URL(path, import.meta.url).pathname;
// Browsers take only numbers.
const version = /\d+\.\d+\.\d+/.exec(process.env.VERSION ?? '')?.[0] ?? '0.0.0';

const firefox = {
  // Firefox's default for extensions also sends requests for plain HTTP to HTTPS, which a service in one's own network may
  // not have: https://developer.mozilla.org/docs/Mozilla/Add-ons/WebExtensions/Content_Security_Policy
  content_security_policy: { extension_pages: "script-src 'self'" },
  background: { scripts: ['background.js'], type: 'module' },
  browser_specific_settings: { gecko: { id: 'icons@iconedge.example', strict_min_version: '128.0' } },
};
const chromium = { minimum_chrome_version: '123', background: { service_worker: 'background.js', type: 'module' } };

async function browser(name, more) {
  const out = here(`browser/build/${name}/`);
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  await build({
    entryPoints: ['popup', 'options', 'background'].map((entry) => here(`browser/${entry}.ts`)),
    outdir: out,
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    charset: 'utf8',
  });
  for (const file of ['popup.html', 'options.html', 'style.css', 'icon.png'])
    await cp(here('browser/' + file), out + file);
  const manifest = JSON.parse(await readFile(here('browser/manifest.json'), 'utf8'));
  await writeFile(out + 'manifest.json', JSON.stringify({ ...manifest, ...more, version }, null, 2) + '\n');
}

await browser('chromium', chromium);
await browser('firefox', firefox);
