import { refuse } from './check';
import type { Letters } from './letters';
import { allowed, cssProperties, cssWords } from './rules';
import { expression, quote, urls } from './value';

/** The style of one element, in order. Declarations from attributes come first and have less weight (SVG 2, 6.6). */
export class Declarations {
  readonly #weak = new Map<string, string>();
  readonly #own = new Map<string, string>();

  /** Adds a presentation attribute. */
  setWeak(name: string, written: string): void {
    const value = written.trim();
    if (value && !this.#own.has(name) && !this.#weak.has(name) && allowed(cssWords.get(name), value))
      this.#weak.set(name, value);
  }

  /** Adds the declarations of a style attribute. It omits properties that do not change how an SVG looks. */
  read(style: string): void {
    if (/[\\{}<]|\/\*/.test(style)) refuse('its style has an escape, a brace or a comment');
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
    this.#own.delete(name); // a repeated property moves to the end
    this.#own.set(name, value);
  }

  /** Writes a React style object. Custom properties are spread, because React's types do not know them. */
  source(letters: Letters): string {
    const fields = [...this.#weak, ...this.#own].map(([name, value]) => {
      const source = expression(urls(value, letters));
      return name.startsWith('--') ? `...{ ${quote(name)}: ${source} }` : `${camel(name)}: ${source}`;
    });
    return fields.length ? `{{ ${fields.join(', ')} }}` : '';
  }
}

/** Splits at semicolons outside of strings and brackets. */
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

/** The name of a property in React styles. A vendor prefix begins with a capital, except ms. */
const camel = (name: string) => name.replace(/^-(?=ms-)/, '').replace(/-(.)/g, (_, c: string) => c.toUpperCase());
