import type { Part } from './value';

/** Assigns letters to the ids and classes of an SVG, in the order of their first use: a, b, … z, aa, ab, … */
export class Letters {
  readonly #known = new Map<string, string>();

  /** @param classes the classes in the SVG's style sheets; all others keep their names. */
  constructor(readonly classes: ReadonlySet<string>) {}

  /** Whether any letter was assigned: then each instance needs its own id. */
  get some(): boolean {
    return this.#known.size > 0;
  }

  id(id: string): Part {
    return this.#letter('#' + id);
  }

  class(word: string): Part {
    return this.classes.has(word) ? this.#letter('.' + word) : word;
  }

  #letter(key: string): Part {
    let letter = this.#known.get(key);
    if (!letter) this.#known.set(key, (letter = numbered(this.#known.size + 1)));
    return { letter };
  }
}

const numbered = (n: number): string =>
  n > 0 ? numbered(Math.floor((n - 1) / 26)) + String.fromCharCode(97 + ((n - 1) % 26)) : '';
