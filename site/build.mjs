// Builds the script, the service worker and the style sheet into origin/site/assets, or, with --check, compares
// them with the files there.
import { readFileSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

const out = new URL('../origin/site/assets/', import.meta.url);
const files = { 'theme.js': 'src/theme.ts', 'app.js': 'src/app.ts', 'sw.js': 'src/sw.ts', 'style.css': 'src/style.css', 'docs.css': 'src/docs.css' };
let stale = 0;
for (const [name, source] of Object.entries(files)) {
  const result = await build({
    absWorkingDir: new URL('.', import.meta.url).pathname, entryPoints: [source], bundle: true, minify: true, write: false,
    format: 'iife', target: name.endsWith('.css') ? 'esnext' : 'es2022', legalComments: 'none', charset: 'utf8',
  });
  const text = result.outputFiles[0].text;
  const path = new URL(name, out);
  if (!process.argv.includes('--check')) {
    writeFileSync(path, text);
  } else if (readFileSync(path, 'utf8') !== text) {
    console.error(`origin/site/assets/${name} is not built from site/${source}: run make site`);
    stale++;
  }
}
process.exit(stale ? 1 : 0);
