// Reads components of icon libraries, such as FaHouse, by the table of icon/scheme, whose Go code reads all other names
// in code too. clients/testdata/component.json has the cases of both.
import table from '../../icon/scheme/schemes.json';
import { validKey } from './reference';

interface Target {
  pack: string;
  before: string;
  after: string;
}

/** A component: the beginning and the end of its form, the name in it, and the icons that it may be. */
export interface Component {
  before: string;
  after: string;
  name: string;
  targets: Target[];
}

const forms = table
  .flatMap(({ forms }) => Object.entries(forms ?? {}))
  .filter(([form]) => /^[A-Za-z]+\*[A-Za-z0-9]*$/.test(form))
  .sort(([a], [b]) => b.length - a.length || (a < b ? -1 : 1));

const targetsOf = (text: string): Target[] =>
  text.split(' ').map((target) => {
    const [pack = '', pattern = ''] = target.split(':');
    const [before = '', after = ''] = pattern.split('*');
    return { pack, before, after };
  });

const hyphened = (camel: string): string =>
  camel
    .replace(/([a-z0-9])([A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$1$3-$2')
    .toLowerCase()
    .replace(/-+/g, '-');

/** Reads a word by its beginning and its capitals: FaHouse, and not Final, although Fi begins other components. */
export function component(word: string): Component | undefined {
  for (const [form, targets] of forms) {
    const [before = '', after = ''] = form.split('*');
    if (!word.startsWith(before) || !word.endsWith(after) || word.length <= before.length + after.length) continue;
    const rest = word.slice(before.length, word.length - after.length);
    const name = hyphened(rest);
    if (/^[A-Z0-9]/.test(rest) && validKey(name)) return { before, after, name, targets: targetsOf(targets) };
  }
  return undefined;
}

/** Returns the icons that a component may be, the likeliest first. */
export const icons = ({ name, targets }: Component): { pack: string; name: string }[] =>
  targets.map(({ pack, before, after }) => ({ pack, name: before + name + after }));

/** Writes an icon as a component of the same form; undefined: the form does not name it. */
export function written(c: Component, icon: { pack: string; name: string }): string | undefined {
  const { name } = icon;
  const target = c.targets.find((t) => t.pack === icon.pack && name.startsWith(t.before) && name.endsWith(t.after));
  if (!target) return undefined;
  const words = name.slice(target.before.length, name.length - target.after.length).split('-');
  return c.before + words.map((w) => w.slice(0, 1).toUpperCase() + w.slice(1)).join('') + c.after;
}
