// What the fake hosts of Figma and Penpot are made of.
import { build } from 'esbuild';
import { createContext, runInContext } from 'node:vm';
import { scan } from '../../react/src/xml';

/** Returns an object that refuses to read fields that it lacks, and to change fields without a setter. */
export function strict<T extends object>(target: T, name: string): T {
  const known = (key: PropertyKey) => typeof key === 'symbol' || key === 'then' || Reflect.has(target, key);
  return new Proxy(target, {
    get(_, key) {
      if (!known(key)) throw new Error(`${name} has no ${String(key)}`);
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
    set(_, key, value) {
      if (!known(key)) throw new Error(`${name} has no ${String(key)} to set`);
      if (!Reflect.set(target, key, value)) throw new Error(`${name}.${String(key)} is read-only`);
      return true;
    },
  });
}

/** Runs the code of a plugin, with nothing beside it but the language and what is given. */
export async function run(entry: string, globals: object): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [new URL('../../' + entry, import.meta.url).pathname],
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    target: 'es2020',
  });
  const { text } = outputFiles[0]!;
  const context = createContext({ ...globals });
  // Penpot's sandbox hardens the language: https://docs.endojs.org/modules/ses.html
  runInContext(
    `for (const c of [Object, Array, Error, Map, Set, Promise, RegExp]) Object.freeze(c.prototype)`,
    context,
  );
  runInContext(text, context);
  return text;
}

/** A part of an SVG that is painted. Black stands for currentColor, as in both hosts. */
export interface Part {
  fill: string;
  fillOpacity: number;
  stroke: string;
}

/** Returns the size and the parts of an SVG. */
export function parts(svg: string): { width: number; height: number; parts: Part[] } {
  const found: Part[] = [];
  const open: { [key: string]: string }[] = [{ fill: '#000000', stroke: 'none', 'fill-opacity': '1' }];
  scan(
    svg,
    (name, attributes) => {
      const all = { ...open.at(-1)!, ...Object.fromEntries(attributes) };
      const paint = (value: string) => (value === 'currentColor' ? '#000000' : value);
      open.push(all);
      if (!/^(path|circle|rect|ellipse|line|poly\w+)$/.test(name)) return;
      found.push({ fill: paint(all.fill!), fillOpacity: Number(all['fill-opacity']), stroke: paint(all.stroke!) });
    },
    () => open.pop(),
    () => undefined,
  );
  const [, width, height] = /width="([\d.]+)" height="([\d.]+)"/.exec(svg) ?? [];
  return { width: Number(width), height: Number(height), parts: found };
}

export const home =
  '<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24" viewBox="0 0 24 24"><path fill="currentColor" d="M3 3h18v18z"/><path fill="currentColor" fill-opacity=".5" d="M3 3h3v3z"/><path fill="none" stroke="currentColor" d="M3 3h3"/></svg>';
export const flag =
  '<svg xmlns="http://www.w3.org/2000/svg" width="32" height="24" viewBox="0 0 32 24"><path fill="#ff0000" d="M0 0h32v9z"/><path fill="currentColor" d="M0 9h9v9z"/></svg>';

/** A message of type insert. */
export const message = (more: object = {}) => ({
  type: 'insert' as const,
  pack: 'mdi',
  name: 'home',
  svg: home,
  credit: 'license Apache-2.0; attribution: Pictogrammers',
  size: 48,
  color: '#ff0000',
  ...more,
});

/** Messages that a plugin refuses, and words of the reason. */
export const hostile: [string, object, string][] = [
  ['an SVG with script', { svg: '<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>' }, 'not safe'],
  ['an SVG with a handler', { svg: home.replace('<path', '<path onclick="x()"') }, 'not safe'],
  ['half an SVG', { svg: home.slice(0, 100) }, 'not safe'],
  ['HTML', { svg: '<!doctype html><p>x' }, 'not safe'],
  ['no SVG', { svg: undefined }, 'not safe'],
  ['a pack that is none', { pack: '../x' }, 'lower-case'],
  ['a name with a control character', { name: 'home\n' }, 'lower-case'],
  ['a colour that is none', { color: 'red;x' }, 'hex colour'],
  ['a size that is none', { size: 1e9 }, '1 to 4096'],
];
