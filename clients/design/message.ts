// The messages between ui.html and the code of a plugin in Figma or Penpot, which both check.
import { line } from '../core/credit';
import { validKey } from '../core/reference';
import type { Secret } from '../core/secret';
import { parseColor } from '../core/settings';
import { checkSVG } from '../core/svg';

/** A colour style of the document. */
export interface Style {
  id: string;
  name: string;
}

/** From ui.html to the code. */
export type ToCode =
  | { type: 'ready' | 'credits' | 'close' }
  | { type: 'save'; settings: object; secret: Secret | undefined }
  | {
      type: 'insert';
      pack: string;
      name: string;
      svg: string;
      credit: string;
      size: number; // height; 0: the icon's own
      color: string; // hex; empty: black
      style?: string; // id of a style, which counts more than color
      replace?: boolean; // false: in the middle of the view, even if something is selected
    };

/** From the code to ui.html. */
export type ToUI =
  | { type: 'start'; settings: object | undefined; secret: Secret | undefined; styles: Style[]; theme?: string }
  | { type: 'theme'; theme: string }
  | { type: 'inserted'; icon: string; count: number }
  | { type: 'failed'; says: string }
  | { type: 'credits'; credits: string[] };

/** A message that is not carried out. Its text is a sentence for the user. */
export class Refused extends Error {}

/** An insertion whose values are valid. */
export interface Insertion {
  icon: string; // pack/name
  svg: string; // with marker in place of currentColor
  marker: string; // #rrggbb, which the SVG does not have otherwise
  monochrome: boolean; // all that the SVG paints is currentColor
  credit: string;
  size: number; // height; 0: the icon's own
  color: string; // #rrggbb or #rrggbbaa
  style: string;
  replace: boolean;
}

const paint = /(?:fill|stroke|stop-color|flood-color|lighting-color)\s*(?:=\s*["']|:)\s*([^"';}<]+)/gi;
const neutral = /^(none|currentcolor|inherit|transparent)\s*$/i;

/** Reads a message of type insert; throws Refused if a value is wrong. */
export function readInsert(m: { [name: string]: unknown }): Insertion {
  if (!validKey(m.pack) || !validKey(m.name))
    throw new Refused('Names have only lower-case letters, digits and hyphens.');
  const icon = `${m.pack}/${m.name}`;
  const svg = String(m.svg);
  try {
    checkSVG(svg);
  } catch {
    throw new Refused(`The SVG of ${icon} is not safe.`);
  }
  const color = m.color ? parseColor(m.color) : '#000000';
  if (!color) throw new Refused('The colour must be a hex colour, such as #ff0000.');
  const size = m.size ? Number(m.size) : 0;
  if (size !== 0 && !(size >= 1 && size <= 4096)) throw new Refused('The size must be a number from 1 to 4096.');
  const marker = markerFor(svg, color.slice(0, 7));
  const monochrome =
    svg.includes('currentColor') && [...svg.matchAll(paint)].every(([, value]) => neutral.test(value!));
  return {
    icon,
    svg: svg.replace(/currentColor/gi, marker),
    marker,
    monochrome,
    credit: line(m.credit),
    size,
    color,
    style: typeof m.style === 'string' ? m.style : '',
    replace: m.replace !== false,
  };
}

/** Returns the colour, or the next one that an SVG does not have. */
function markerFor(svg: string, color: string): string {
  let n = parseInt(color.slice(1), 16);
  const has = (c: string) => svg.toLowerCase().includes(c);
  for (; has(hex(n)); n = (n + 1) % 0x1000000);
  return hex(n);
}

const hex = (n: number) => '#' + n.toString(16).padStart(6, '0');
