import { limited, type Client, type Fault, type Hit } from './client';
import { Pace } from './pace';

/** Shows what a search field has found. After a fault, the last hits stay: hits is undefined, and says is one sentence. */
export type Show = (result: { query: string; hits?: Hit[]; says: string }) => void;

/** A search field: it searches as the user types, at the pace of the contract, and drops late responses. */
export class Search {
  #pace = new Pace();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly client: () => Client,
    readonly show: Show,
  ) {}

  /** Call it whenever the text of the field has changed. */
  type(text: string): void {
    if (this.#pace.type(Date.now(), text)) void this.#run(text.trim());
    this.#plan();
  }

  /** Call it when the field goes away. */
  stop(): void {
    this.type('');
  }

  #plan() {
    clearTimeout(this.#timer);
    const at = this.#pace.wake();
    if (at === undefined) return;
    const wait = at - Date.now();
    if (wait > 1000) this.show({ query: '', says: limited(wait).message });
    this.#timer = setTimeout(
      () => {
        const text = this.#pace.due(Date.now());
        if (text === undefined) this.#plan();
        else void this.#run(text);
      },
      Math.max(0, wait),
    );
  }

  async #run(query: string) {
    this.#last = query;
    try {
      const hits = await this.client().search(query);
      if (this.#pace.answered(Date.now(), query)) this.show({ query, hits, says: count(hits.length) });
    } catch (error) {
      const fault = error as Fault;
      this.#pace.limited(Date.now(), fault.wait);
      if (this.#last === query) this.show({ query, says: fault.message });
    }
  }

  #last = '';
}

const count = (n: number) => `${n || 'No'} icon${n === 1 ? '' : 's'} found.`;
