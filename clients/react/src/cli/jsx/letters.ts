import type { Part } from './value';

/** The letters of a drawing's ids and classes, given in the order in which they are first asked for: a, b, … z, aa, ab, … */
export class Letters {
  readonly #known = new Map<string, string>();

  /** @param classes those that the drawing's own style sheets name; others keep their names. */
  constructor(readonly classes: ReadonlySet<string>) {}

  /** Whether any was given: then each copy needs an id of its own. */
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
