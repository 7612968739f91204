// A library for the tests, in the form of @iconify/json: packs with the names of pages, a pack of 31,722 icons, one of a
// single icon, aliases, icons with their own colours, and hostile text wherever a library can have text.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const hostile = [
  '"><script>window.hacked=1</script>', "'><img src=x onerror=window.hacked=1>", '</script><script>window.hacked=1</script>', '{{.}}${7*7}<%= 7 %>',
  'javascript:window.hacked=1', '&quot;&lt;b&gt;', '\u202eevil\u2066', '<!--', ']]>', 'tag\twith\nspace', '" onmouseover="window.hacked=1', '\\u003cscript\\u003e', 'ｆｕｌｌ', '日本語', '-->', '<svg onload=window.hacked=1>',
];

const license = { MIT: 'MIT', 'CC-BY-4.0': 'CC BY 4.0', 'CC-BY-NC-4.0': 'CC BY-NC 4.0', 'GPL-3.0-only': 'GPL 3', 'CC-BY-SA-4.0': 'CC BY-SA 4.0' };
/** An icon of so many numbers, which compress badly. */
const dense = (numbers) => `<path fill="#f60" d="M0 0h24v24H0z"/><path fill="#06f" d="M${Array.from({ length: numbers }, (_, i) => `${i * i * 7919 % 24}.${i * i * 104729 % 1000}`).join(' ')}z"/>`;
const path = (i) => `<path fill="currentColor" d="M2 ${(i % 20) + 1}h20v${(i % 7) + 1}H2zM${i % 23} 2h${(i % 5) + 1}v${Math.floor(i / 23) / 100 + 1}z"/>`;

export const big = 31_722;

export function writeLibrary(dir) {
  mkdirSync(join(dir, 'json'), { recursive: true });
  const packs = {};
  const add = (prefix, name, spdx, icons, more = {}) => {
    packs[prefix] = {
      name, total: Object.keys(icons).length, author: { name: more.author ?? 'An Author', url: 'https://example.org/' + prefix },
      license: { title: license[spdx], spdx, url: 'https://spdx.org/licenses/' + spdx + '.html' },
      samples: Object.keys(icons).slice(0, 6), height: 24, category: more.category ?? 'General', palette: !!more.palette,
    };
    writeFileSync(join(dir, 'json', prefix + '.json'), JSON.stringify({ prefix, icons, aliases: more.aliases ?? {}, categories: more.categories ?? {}, width: 24, height: 24, lastModified: 1 }));
  };
  let turn = 400;
  const icons = (...names) => Object.fromEntries(names.map((name) => [name, { body: path(turn++) }]));
  add('mdi', 'Material Design Icons', 'MIT', {
    home: { body: '<path fill="currentColor" d="M10 20v-6h4v6h5v-8h3L12 3 2 12h3v8z"/>' },
    square: { body: '<path fill="currentColor" d="M0 0h24v24H0z"/>' },
    wide: { body: '<path fill="currentColor" d="M0 0h48v24H0z"/>', width: 48 },
    narrow: { body: '<path fill="currentColor" d="M0 0h21v24H0z"/>', width: 21 },
    ...icons(...'home-outline home-account home-alert home-city account account-box arrow-left arrow-right arrow-up github calendar heart star user camera bell cart cloud'.split(' ')),
    ...Object.fromEntries(Array.from({ length: 90 }, (_, i) => [`arrow-${i}`, { body: path(i) }])),
  }, { aliases: { house: { parent: 'home' } }, categories: { Home: ['home', 'home-outline'], 'Arrow & <b>': ['arrow-left', 'arrow-right'] } });
  add('lucide', 'Lucide', 'MIT', icons('house', 'home', 'arrow-left', 'camera', '2d'));
  add('nc', 'Attic', 'CC-BY-NC-4.0', icons('home', 'crate'));
  add('credit', 'Credited', 'CC-BY-4.0', icons('home', 'lamp'));
  add('gpl', 'Copyleft', 'GPL-3.0-only', icons('home'));
  add('colors', 'Colours', 'MIT', {
    home: { body: '<path fill="#f60" d="M0 0h24v24H0z"/><path fill="#06f" d="M6 6h12v12H6z"/>' }, long: { body: '<path fill="#f60" d="M0 0h24v24H0z"/>' + Array.from({ length: 900 }, (_, i) => `<path fill="#${(i * 7919 % 4096).toString(16).padStart(3, '0')}" d="M${i % 24} ${i * 31 % 24}h1v1z"/>`).join('') }, dense: { body: dense(280) }, denser: { body: dense(420) }, black: { body: '<path fill="#000" d="M0 0h24v24H0z"/><path fill="#111" d="M2 2h3v3z"/>' },
  }, { palette: true });
  for (const prefix of ['search', 'icon', 'api', 'pack', 'packs', 'bag', 'sitemap', 'site', 'docs']) add(prefix, 'Pack ' + prefix, 'MIT', icons('home', 'mdi', 'star'));
  add('one', 'One', 'MIT', icons('only'));
  add('big', 'Big', 'MIT', Object.fromEntries(Array.from({ length: big }, (_, i) => [`b-${i}`, { body: path(i) }])));
  hostile.forEach((text, i) => add(`hostile-${i}`, text, 'CC-BY-4.0', icons('home', 'bomb'), { author: text, category: text, categories: { [text]: ['bomb'] } }));
  writeFileSync(join(dir, 'collections.json'), JSON.stringify(packs));
}
