import { checkValue, refuse } from './check';
import type { Letters } from './letters';
import type { Element } from './read';
import { expression, urls, type Part } from './value';

// A style sheet in an inline SVG applies to the whole page. So a sheet is accepted only if every rule selects by class or id,
// and those are renamed in each instance.
const rule = /^[\t\n\f\r ]*([^{}@;]+)\{([^{}@<\\]*)\}/;
const selector = /^(?:[A-Za-z0-9_.#*-]+(?: ?[>+~] ?| ))*[A-Za-z0-9*-]*[.#][A-Za-z_-][A-Za-z0-9_.#-]*$/;
const ownName = /[.#][A-Za-z_-][A-Za-z0-9_-]*/g;

interface Rule {
  selectors: string[];
  body: string;
}

/** Parses the sheet in a style element. */
function rules(style: Element): Rule[] {
  const foreign = style.attributes.some(
    ([name, value]) =>
      (name === 'type' && value && value !== 'text/css') || (name === 'media' && value && value !== 'all'),
  );
  if (foreign) refuse('it has a style sheet that would apply to the whole page');
  let css = style.children
    .filter((child) => typeof child === 'string')
    .join('')
    .replace(/\/\*[^]*?\*\//g, '');
  checkValue(css);
  const list: Rule[] = [];
  while (css.trim()) {
    const [all, names, body] = rule.exec(css) ?? refuse('it has a style sheet that would apply to the whole page');
    const selectors = names!.split(',').map(collapse);
    if (!selectors.every((one) => selector.test(one)))
      refuse('it has a style sheet that would apply to the whole page');
    list.push({ selectors, body: collapse(body!) });
    css = css.slice(all.length);
  }
  return list;
}

const collapse = (text: string) => text.replace(/[\t\n\f\r ]+/g, ' ').trim();

/** The classes in the style sheets of an SVG. */
export function classes(element: Element): string[] {
  const own =
    element.name === 'style' ? rules(element).flatMap((one) => one.selectors.join(' ').match(ownName) ?? []) : [];
  const inner = element.children.flatMap((child) => (typeof child === 'string' ? [] : classes(child)));
  return [...own.filter((name) => name.startsWith('.')).map((name) => name.slice(1)), ...inner];
}

/** Writes a style sheet whose classes and ids are renamed in each instance. */
export function sheet(style: Element, letters: Letters): string {
  const parts = rules(style).flatMap(({ selectors, body }): Part[] => [
    ...selectors.flatMap((one, i) => [...(i ? [','] : []), ...renamed(one, letters)]),
    '{',
    ...urls(body, letters),
    '}',
  ]);
  return parts.length ? `{${expression(parts)}}` : '';
}

function renamed(written: string, letters: Letters): Part[] {
  const parts: Part[] = [];
  let rest = 0;
  for (const { 0: name, index } of written.matchAll(ownName)) {
    parts.push(
      written.slice(rest, index + 1),
      name.startsWith('.') ? letters.class(name.slice(1)) : letters.id(name.slice(1)),
    );
    rest = index + name.length;
  }
  return [...parts, written.slice(rest)];
}
