// The forms in which an icon is inserted; clients/testdata/output.json has the cases for this and clients/go/output in Go.
import { query } from './client';
import { creditRequired, line, phrase, type Credit } from './credit';
import type { Form } from './settings';

/** What a form is made of. */
export interface Icon {
  pack: string;
  name: string;
  svg: string;
  credit: Credit;
  monochrome: boolean;
  color?: string | undefined; // of a monochrome icon; undefined: that of the text
  recolored: boolean; // the service has applied the requested colour
  width: number; // of the requested variant
  height: number;
  cdn?: string; // base address
  alias?: string; // the name that it is an alias of
}

/** The choices of a user. */
export interface Options {
  cdn: string; // base address, without a slash at its end
  color?: string; // #rrggbb
  size?: number; // height in pixels
  credit?: boolean; // false leaves the comment out, unless the licence requires it
  separator?: string; // between pack and name; default a slash
  prefix?: string; // i- makes the class of an icon
  component?: (icon: Icon, options: Options) => string; // writes react; see core/react.ts
}

/** Returns an SVG as a data: URL in base64, so that no character has a meaning in HTML, CSS or JavaScript. */
export const dataURI = (svg: string): string => 'data:image/svg+xml;base64,' + btoa(binary(svg));

const binary = (s: string) => Array.from(new TextEncoder().encode(s), (b) => String.fromCharCode(b)).join('');

/** Returns the credit of an icon as one line: its name, licence and attribution. */
export const words = (i: Pick<Icon, 'pack' | 'name' | 'credit'>): string => `${i.pack}/${i.name}: ${phrase(i.credit)}`;

/** Returns the address of an icon on the CDN, in its colour and size. */
export const address = (i: Pick<Icon, 'pack' | 'name' | 'recolored'>, o: Options, form = 'svg', most = 4096): string =>
  `${o.cdn}/${i.pack}/${i.name}.${form}` + query({ color: i.recolored && o.color, size: Math.min(o.size || 0, most) });

/** Declarations. An icon is a mask, to take the colour of the text or another one, unless it has colours of its own. */
function css(i: Icon, o: Options): string {
  const where = `url("${o.cdn}/${i.pack}/${i.name}.svg") center / contain no-repeat;`;
  const lines =
    i.monochrome && (!i.color || o.color)
      ? ['mask: ' + where, `background-color: ${o.color || 'currentColor'};`]
      : ['background: ' + where];
  if (o.size) {
    const ratio = i.width > 0 && i.height > 0 ? i.width / i.height : 1;
    lines.push(`width: ${o.size * ratio}px;`, `height: ${o.size}px;`);
  }
  return lines.join('\n');
}

/** Returns an icon in a form, without the credit; react has it in a comment of its own. */
export function write(form: Form, i: Icon, o: Options): string {
  switch (form) {
    case 'svg':
      return i.svg;
    case 'react':
      if (!o.component) throw new Error('This host has no form react.');
      return o.component(i, o);
    case 'css':
      return css(i, o);
    case 'url':
      return address(i, o);
    case 'png': // as text; hosts that take pictures have core/picture.ts
      return address(i, o, form, 1024);
    case 'datauri':
      return dataURI(i.svg);
    case 'name':
      return (o.prefix ?? '') + i.pack + (o.separator ?? '/') + i.name;
  }
}

const languages: [Form, RegExp][] = [
  ['css', /^(css|scss|less|sass|stylus|postcss)$/],
  ['react', /^(javascript|typescript)react$/],
  ['svg', /^(html|vue|svelte|astro|xml|svg)$/],
  ['url', /^(markdown|mdx)$/],
];

/** Returns the form for a document of a language, which has its name in VS Code and the Language Server Protocol. */
export function choose(form: Form | 'auto' | '', language: string): Form {
  if (form && form !== 'auto') return form;
  return languages.find(([, names]) => names.test(language))?.[0] ?? 'name';
}

/** Returns the text to insert into a document: the icon in its form, and above svg and css its credit in a comment. */
export function insert(form: Form | 'auto' | '', language: string, i: Icon, o: Options): string {
  const usual = choose('', language);
  const chosen = choose(form, language);
  const text = write(chosen, i, o);
  const credit = o.credit !== false || creditRequired(i.credit);
  if (/url|png/.test(chosen) && usual === 'url') {
    // An icon in the colour of the text is black in an image: the address gets a colour for each kind of page.
    const both =
      chosen !== 'url' || o.color || i.color || !i.monochrome ? '' : (o.size ? '&' : '?') + 'color=000&dark=fff';
    return `![${i.pack}/${i.name}](${text}${both})`;
  }
  if (chosen === 'react' && !credit) return text.slice(text.indexOf('\n') + 1); // its first line is the comment
  if (!credit) return text;
  const comment = escape(words(i));
  if (chosen === 'css') return `/* ${comment} */\n` + text;
  if (chosen !== 'svg') return text;
  return (usual === 'react' ? `{/* ${comment} */}\n` : `<!-- ${comment} -->\n`) + text;
}

/** Makes a line fit for a comment of HTML, CSS and JavaScript alike: it ends none of them, and begins none. */
function escape(words: string): string {
  const s = line(words).replace(/\*(?=\/)|\/(?=\*)|-(?=[->])|<(?=!)/g, '$& ');
  return s.replaceAll('{', '(').replaceAll('}', ')').replaceAll('`', "'");
}
