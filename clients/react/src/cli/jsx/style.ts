import { refuse } from './check';
import type { Letters } from './letters';
import { allowed, cssProperties, cssWords } from './rules';
import { expression, quote, urls } from './value';

/** The declarations of one element's style, in their order; those of attributes stand before and give way (SVG 2, 6.6). */
export class Declarations {
  readonly #weak = new Map<string, string>();
  readonly #own = new Map<string, string>();

  /** Adds what a presentation attribute says. */
  setWeak(name: string, written: string): void {
    const value = written.trim();
    if (value && !this.#own.has(name) && !this.#weak.has(name) && allowed(cssWords.get(name), value))
      this.#weak.set(name, value);
  }

  /** Adds the declarations of a style attribute. Properties that do nothing to a drawing are left out. */
  read(style: string): void {
    if (/[\\{}<]|\/\*/.test(style)) refuse("it has a style that can't be read simply");
    for (const one of split(style)) {
      const colon = one.indexOf(':');
      const written = one.slice(0, Math.max(colon, 0)).trim();
      const name = written.startsWith('--') ? written : written.toLowerCase();
      const value = one
        .slice(colon + 1)
        .replace(/[\t\n\f\r ]*![\t\n\f\r ]*important[\t\n\f\r ]*$/i, '')
        .trim();
      const custom = /^--[A-Za-z0-9_-]+$/.test(name);
      if (value && (custom || (cssProperties.has(name) && allowed(cssWords.get(name), value)))) this.#set(name, value);
    }
  }

  #set(name: string, value: string) {
    this.#weak.delete(name);
    this.#own.delete(name); // one that comes again goes to the end
    this.#own.set(name, value);
  }

  /** Writes them as React takes them. Custom properties are spread, as React's types don't know them. */
  source(letters: Letters): string {
    const fields = [...this.#weak, ...this.#own].map(([name, value]) => {
      const source = expression(urls(value, letters));
      return name.startsWith('--') ? `...{ ${quote(name)}: ${source} }` : `${camel(name)}: ${source}`;
    });
    return fields.length ? `{{ ${fields.join(', ')} }}` : '';
  }
}

/** Splits at semicolons that are in no string and no brackets. */
function split(style: string): string[] {
  const list = [''];
  let depth = 0;
  let inside = '';
  for (const c of style) {
    if (inside) inside = c === inside ? '' : inside;
    else if (c === '"' || c === "'") inside = c;
    else if (c === '(') depth++;
    else if (c === ')') depth = Math.max(0, depth - 1);
    if (c === ';' && !depth && !inside) list.push('');
    else list[list.length - 1] += c;
  }
  return list;
}

/** The name that React's styles have for a property: a vendor's prefix begins with a capital, but for ms. */
const camel = (name: string) => name.replace(/^-(?=ms-)/, '').replace(/-(.)/g, (_, c: string) => c.toUpperCase());
