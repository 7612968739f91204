import { reference } from './check';
import type { Letters } from './letters';

/** A part of a value: text, or the letter of an id. */
export type Part = string | { letter: string };

/** Splits the value of an attribute at the ids in it. */
export function value(name: string, written: string, letters: Letters): Part[] {
  const trimmed = written.trim();
  switch (name) {
    case 'id':
      return [letters.id(written)];
    case 'class':
      return words(written, (word) => letters.class(word));
    case 'aria-labelledby':
    case 'aria-describedby':
      return words(written, (word) => letters.id(word));
    case 'href':
    case 'xlink:href':
      return trimmed.startsWith('#') ? ['#', letters.id(trimmed.slice(1))] : [trimmed];
    case 'begin':
    case 'end':
      return moments(written, letters);
    case 'aria-label':
    case 'lang':
    case 'xml:lang':
    case 'role':
      return [written];
  }
  return urls(written, letters);
}

const words = (list: string, each: (word: string) => Part): Part[] =>
  list
    .split(/\s+/)
    .filter(Boolean)
    .flatMap((word, i) => (i ? [' ', each(word)] : [each(word)]));

/** Finds url(#id) in a value, with or without quotes. */
export function urls(written: string, letters: Letters): Part[] {
  const parts: Part[] = [];
  let rest = 0;
  for (const match of written.matchAll(reference)) {
    parts.push(written.slice(rest, match.index) + 'url(#', letters.id(match[1]!), ')');
    rest = match.index + match[0].length;
  }
  return [...parts, written.slice(rest)];
}

/** Finds times relative to another element (SMIL 3.0, timing, Syncbase-value): "x.end+1s". */
function moments(written: string, letters: Letters): Part[] {
  return written.split(';').flatMap((one, i) => {
    const match = /^([A-Za-z_][A-Za-z0-9_-]*)(\.[A-Za-z].*)$/.exec(one.trim());
    const moment = match ? [letters.id(match[1]!), match[2]!] : [one.trim()];
    return i ? [';', ...moment] : moment;
  });
}

/** Writes the value of a JSX attribute: in quotes if no character has a meaning in JSX, else as an expression. */
export function quoted(parts: Part[]): string {
  const source = expression(parts);
  const plain = parts.every((part) => typeof part === 'string' && !/["&\\{}<>\0-\x1f\x7f\u2028\u2029]/.test(part));
  return plain ? source : `{${source}}`;
}

/** Writes a JavaScript expression: "url(#" + id + "a)". The letter of an id begins the string after it. */
export function expression(parts: Part[]): string {
  const terms: string[] = [];
  let now = '';
  for (const part of parts) {
    if (typeof part !== 'string') {
      if (now) terms.push(quote(now));
      terms.push('id');
      now = part.letter;
    } else now += part;
  }
  if (now || !terms.length) terms.push(quote(now));
  return terms.join(' + ');
}

/** Writes a JavaScript string (ECMA-262, section 12.9.4). */
export const quote = (text: string) =>
  `"${text.replace(/["\\\0-\x1f\x7f\u2028\u2029]/g, (c) => {
    if (c === '"' || c === '\\') return '\\' + c;
    if (c === '\n') return '\\n';
    if (c === '\t') return '\\t';
    return '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0');
  })}"`;
