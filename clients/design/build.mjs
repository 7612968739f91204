// Builds a plugin for Figma or Penpot: its code, and ui.html in one file, for the service at api.
import { build } from 'esbuild';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';

const here = (path) => new URL('../' + path, import.meta.url).pathname;
const options = { bundle: true, minify: true, write: false, format: 'iife', target: 'es2020', charset: 'utf8' };

async function script(entry, define = {}) {
  const { outputFiles } = await build({ ...options, entryPoints: [here(entry)], define });
  // Penpot's sandbox refuses code with these, even in strings: https://github.com/endojs/endo, ses/src/transforms.js
  return outputFiles[0].text.replaceAll('<!--', '\\x3c!--').replaceAll('-->', '--\\x3e').trimEnd();
}

const base = '<label for="baseUrl">Address of the icon service (baseUrl)</label>\n<input id="baseUrl" type="url" />';

/** Builds the plugin of a host, figma or penpot, into out. CDN is the base address of the icons. */
export async function design(host, { out, version, api, cdn }) {
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  const code = host === 'figma' ? 'code' : 'plugin';
  await writeFile(`${out}/${code}.js`, (await script(`${host}/${code}.ts`)) + '\n');
  const js = await script('design/ui.ts', { HOST: JSON.stringify(host), BASE: JSON.stringify(api) });
  const css = await build({ entryPoints: [here('picker/style.css')], minify: true, write: false });
  const page = (await readFile(here('design/ui.html'), 'utf8'))
    .replace('0.0.0', version)
    .replace('<!-- baseUrl -->', host === 'figma' ? '' : base)
    .replace('/* style.css */', () => css.outputFiles[0].text.trim())
    .replace('/* ui.js */', () => js.replaceAll('</', '<\\/'));
  await writeFile(`${out}/ui.html`, page);
  const manifest = JSON.parse(await readFile(here(`${host}/manifest.json`), 'utf8'));
  if (host === 'figma')
    manifest.networkAccess.allowedDomains = [...new Set([api, cdn].map((url) => new URL(url).origin))];
  await writeFile(`${out}/manifest.json`, JSON.stringify(manifest, null, 2) + '\n');
  if (host === 'penpot') await cp(here('browser/icon.png'), `${out}/icon.png`);
}
