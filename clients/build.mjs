// Builds the plugins in TypeScript into build folders, from which tools/plugins makes the packages. VERSION: 1.2.3.
// ICONEDGE_API, ICONEDGE_CDN: the addresses of the service for which the plugins of Figma and Penpot are built.
import { execFileSync } from 'node:child_process';
import { build } from 'esbuild';
import { cp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { design } from './design/build.mjs';

const here = (path) => new URL(path, import.meta.url).pathname;
// Browsers take only numbers.
const version = /\d+\.\d+\.\d+/.exec(
  process.env.VERSION || (await readFile(here('../internal/cli/version.txt'), 'utf8')),
)[0];

const firefox = {
  // Firefox's default for extensions also sends requests for plain HTTP to HTTPS, which a service in one's own network may
  // not have: https://developer.mozilla.org/docs/Mozilla/Add-ons/WebExtensions/Content_Security_Policy
  content_security_policy: { extension_pages: "script-src 'self'" },
  background: { scripts: ['background.js'], type: 'module' },
  // 142 is the first version whose releases all know data_collection_permissions, which web-ext lint requires.
  browser_specific_settings: {
    gecko: {
      id: 'icons@iconedge.example',
      strict_min_version: '142.0',
      data_collection_permissions: { required: ['none'] },
    },
  },
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
  for (const file of ['browser/popup.html', 'browser/options.html', 'picker/style.css', 'browser/icon.png'])
    await cp(here(file), out + basename(file));
  const manifest = JSON.parse(await readFile(here('browser/manifest.json'), 'utf8'));
  await writeFile(out + 'manifest.json', JSON.stringify({ ...manifest, ...more, version }, null, 2) + '\n');
}

async function vscode() {
  const out = here('vscode/build/');
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  await build({
    entryPoints: [here('vscode/extension.ts')],
    outfile: out + 'extension.js',
    external: ['vscode'],
    bundle: true,
    minify: true,
    format: 'cjs', // for Node and for the worker of the browser
    target: 'es2022',
    charset: 'utf8',
  });
  for (const file of ['icon.png', 'window.png']) await cp(here('vscode/' + file), out + file);
  await cp(here('../LICENSE'), out + 'LICENSE');
  const readme = await readFile(here('vscode/README.md'), 'utf8');
  await writeFile(out + 'README.md', readme.replaceAll('0.0.0', version));
  const manifest = JSON.parse(await readFile(here('vscode/package.json'), 'utf8'));
  await writeFile(out + 'package.json', JSON.stringify({ ...manifest, version }, null, 2) + '\n');
  // With a fixed time the package has the same bytes each time (https://reproducible-builds.org/specs/source-date-epoch/).
  const pack = ['package', '--no-dependencies', '--no-rewrite-relative-links', '--out', 'iconedge-vscode.vsix'];
  const env = { ...process.env, SOURCE_DATE_EPOCH: '315532800' };
  execFileSync(here('node_modules/.bin/vsce'), pack, { cwd: out, env, stdio: ['ignore', 'ignore', 'inherit'] });
}

/** Raycast's own compiler checks the types and the manifest. It wants its tools beside the manifest. */
async function raycast() {
  const out = here('raycast/build/');
  await rm(out, { recursive: true, force: true });
  await symlink('../node_modules', here('raycast/node_modules')).catch(() => {}); // it may be there
  const flags = ['build', '--non-interactive', '--exit-on-error', '--environment', 'dist', '--output', out];
  execFileSync(here('node_modules/.bin/ray'), flags, { cwd: here('raycast'), stdio: ['ignore', 'ignore', 'inherit'] });
  await rm(out + 'search.js.map');
  const script = await readFile(out + 'search.js', 'utf8');
  await writeFile(out + 'search.js', script.replace('0.0.0', version));
}

// The service that the plugins for Figma and Penpot are for; Figma lets a plugin reach no other.
const api = (process.env.ICONEDGE_API || 'http://127.0.0.1:8080').replace(/\/+$/, '');
const cdn = (process.env.ICONEDGE_CDN || api).replace(/\/+$/, '');

await vscode();
for (const host of ['figma', 'penpot']) await design(host, { out: here(`${host}/build`), version, api, cdn });
await raycast();
await browser('chromium', chromium);
await browser('firefox', firefox);
