// Draws the picture of icons in the README, docs/images/icons.svg, from the library that tools/library/package.json pins:
// node bench/icons.mjs. Its packs have licences that ask for no more than the notice in the file.
import { readFileSync, writeFileSync } from 'node:fs';

const library = new URL('../../tools/library/node_modules/@iconify/json/json/', import.meta.url);
const rows = {
  mdi: ['rocket-launch', 'home', 'heart', 'weather-partly-cloudy', 'palette', 'bike', 'camera', 'leaf', 'map-marker', 'cat', 'guitar-acoustic', 'cog', 'school', 'airplane'],
  lucide: ['anchor', 'bell', 'coffee', 'compass', 'feather', 'gift', 'key-round', 'lightbulb', 'music', 'plane', 'shield-check', 'sprout', 'umbrella', 'zap'],
  ph: ['acorn-duotone', 'balloon-duotone', 'bug-beetle-duotone', 'cake-duotone', 'cherries-duotone', 'fish-duotone', 'ghost-duotone', 'globe-hemisphere-west-duotone', 'horse-duotone', 'lamp-duotone', 'mountains-duotone', 'piano-keys-duotone', 'sailboat-duotone', 'tree-duotone'],
  'fluent-emoji-flat': ['rocket', 'red-heart', 'sun-with-face', 'artist-palette', 'bicycle', 'camera', 'four-leaf-clover', 'fox', 'guitar', 'hot-beverage', 'house', 'lemon', 'umbrella', 'whale'],
  devicon: ['git', 'react', 'typescript', 'svelte', 'rust', 'docker', 'postgresql', 'kubernetes', 'nginx', 'redis', 'swift', 'vuejs', 'css3', 'html5'],
};
const colours = ['#4f5bd5', '#d5416b', '#1c7f6a'];
const cell = 64;
const icon = 36;
const columns = Math.max(...Object.values(rows).map((names) => names.length));
const parts = [];
const credits = [];
Object.entries(rows).forEach(([pack, names], row) => {
  const { icons, info, width = 16, height = width } = JSON.parse(readFileSync(new URL(pack + '.json', library)));
  if (!/^(MIT|ISC|Apache-2\.0)$/.test(info.license.spdx)) throw new Error(`${pack}: ${info.license.spdx}`);
  credits.push(`${info.name} by ${info.author.name}, ${info.license.spdx}`);
  names.forEach((name, column) => {
    const found = icons[name];
    if (!found || found.body.includes('id=')) throw new Error(`${pack}/${name} does not fit`);
    const [w, h] = [found.width ?? width, found.height ?? height];
    const at = (n) => (n + 0.5) * cell - icon / 2;
    parts.push(`<svg x="${at(column)}" y="${at(row)}" width="${icon}" height="${icon}" viewBox="${found.left ?? 0} ${found.top ?? 0} ${w} ${h}" color="${colours[row] ?? '#24272e'}">${found.body}</svg>`);
  });
});
const [w, h] = [columns * cell, Object.keys(rows).length * cell];
writeFileSync(new URL('../../docs/images/icons.svg', import.meta.url), `<!-- ${credits.join('; ')}. Drawn by site/bench/icons.mjs. -->
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${w} ${h}" width="${w}" height="${h}" role="img" aria-label="Icons of five packs">
<rect width="${w}" height="${h}" rx="16" fill="#f7f8fa"/>
${parts.join('\n')}
</svg>
`);
