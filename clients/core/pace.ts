// Decides when a search as you type starts; clients/testdata/pace.json has the cases for this and clients/go/pace in Go.

const delay = 250; // ms from the last key to the search
const most = 30; // searches in window
const window = 60_000;
const repeat = 300_000; // ms for which the response to a text is used again
const texts = 200; // whose responses are remembered

/** The state of one search field. Times are in ms; the caller tells them. */
export class Pace {
  #text = '';
  #pending = false;
  #due = 0;
  #started: number[] = [];
  #answered = new Map<string, number>();
  #blocked = 0;

  /** Notes that the text of the field has changed. It reports whether the response to it is already known. */
  type(now: number, text: string): boolean {
    this.#text = text.trim();
    this.#due = now + delay;
    const known = now - (this.#answered.get(this.#text) ?? -Infinity) < repeat;
    this.#pending = !known && [...this.#text].length >= 2;
    return known;
  }

  /** The time at which due should be called; undefined if nothing is pending. */
  wake(): number | undefined {
    if (!this.#pending) return;
    const free = this.#started.length === most ? this.#started[0]! + window : 0;
    return Math.max(this.#due, this.#blocked, free);
  }

  /** Starts the pending search if its time has come, and returns its text. */
  due(now: number): string | undefined {
    const at = this.wake();
    if (at === undefined || now < at) return;
    this.#pending = false;
    if (this.#started.push(now) > most) this.#started.shift();
    return this.#text;
  }

  /** Notes a response. It reports whether the response is to be shown: a late one is not. */
  answered(now: number, text: string): boolean {
    if (this.#answered.size >= texts) this.#answered.clear();
    this.#answered.set(text, now);
    return text === this.#text;
  }

  /** Notes a 429: nothing starts until wait (ms) has passed. */
  limited(now: number, wait: number): void {
    this.#blocked = Math.max(this.#blocked, now + wait);
  }
}
