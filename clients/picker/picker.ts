// The search of a page with #q, #results and #status: a combobox with a list, which the keyboard alone can use.
import { dataURI, Fault, forms, Search, type Client, type Form, type Hit } from '../core';

/**
 * What the user wants: enter stands for Enter, other for Ctrl+Enter, save for the button of that name, and form for the
 * answer to Shift+Enter.
 */
export type Use = { how: 'enter' | 'other' | 'save' } | { how: 'form'; form: Form };

/** What a picker needs from the page that it is in. */
export interface Host {
  client(): Client;
  /** Uses a hit, and returns the sentence for the status. */
  use(h: Hit, use: Use): Promise<string>;
  /** Whether the user has agreed in this session to an icon that may not be used commercially. */
  agreed(): Promise<boolean>;
  agree(): Promise<void>;
  close(): void;
}

export const get = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;

export class Picker {
  readonly #q = get<HTMLInputElement>('q');
  readonly #results = get('results');
  readonly #menu = get<HTMLDialogElement>('forms');
  readonly #question = get<HTMLDialogElement>('confirm');
  readonly #search: Search;
  #hits: Hit[] = [];
  #at = 0;

  constructor(readonly host: Host) {
    this.#search = new Search(
      () => host.client(),
      (found) => {
        if (found.hits) this.#show(found.hits);
        this.says(found.says);
      },
    );
    this.#q.addEventListener('input', () => this.#search.type(this.#q.value));
    this.#q.addEventListener('keydown', (event) => {
      const run = event.isComposing ? undefined : this.#keys[event.key];
      if (!run) return;
      event.preventDefault();
      void run(event);
    });
    document.addEventListener('keydown', (event) => {
      if (event.key === 'Escape' && !event.isComposing && !document.querySelector('dialog[open]')) host.close();
    });
    get('yes').addEventListener('click', () => this.#question.close('yes'));
    get('no').addEventListener('click', () => this.#question.close('no'));
  }

  says(words: string): void {
    get('status').textContent = words;
  }

  /** Searches for the text of the field, which may be a new one. */
  search(query?: string): void {
    if (query) this.#q.value = query;
    if (this.#q.value) this.#search.type(this.#q.value);
  }

  /** Uses the selected icon. A failure is one sentence in the status. */
  async use(use: Use): Promise<void> {
    const h = this.#hits[this.#at];
    if (!h) return this.says('Search for an icon first.');
    try {
      this.says(await this.host.use(h, use));
    } catch (error) {
      const other = `${h.pack}/${h.name} can't be used in this form or on this page.`;
      this.says(error instanceof Fault ? error.message : other);
    }
  }

  /** Asks once a session before an icon is used that may not be used commercially. */
  async confirmed(h: { pack: string; name: string; license: string; commercialUse: boolean }): Promise<boolean> {
    if (h.commercialUse || (await this.host.agreed())) return true;
    get('question').textContent = `${h.pack}/${h.name} is licensed ${h.license}: non-commercial use only. Use it?`;
    this.#question.returnValue = '';
    this.#question.showModal();
    await new Promise((done) => this.#question.addEventListener('close', done, { once: true }));
    this.#q.focus();
    if (this.#question.returnValue !== 'yes') return false;
    await this.host.agree();
    return true;
  }

  /** Asks for the form of the selected icon. */
  askForm(): void {
    if (!this.#hits[this.#at]) return this.says('Search for an icon first.');
    this.#menu.replaceChildren(
      ...forms.map((form) => {
        const button = document.createElement('button');
        button.type = 'button';
        button.textContent = form;
        button.addEventListener('click', () => {
          this.#menu.close();
          this.#q.focus();
          void this.use({ how: 'form', form });
        });
        return button;
      }),
    );
    this.#menu.showModal();
  }

  readonly #keys: { [key: string]: (event: KeyboardEvent) => unknown } = {
    ArrowDown: () => this.#select(this.#at + 1),
    ArrowUp: () => this.#select(this.#at - 1),
    PageDown: () => this.#select(this.#at + 8),
    PageUp: () => this.#select(this.#at - 8),
    Enter: (event) =>
      event.shiftKey ? this.askForm() : this.use({ how: event.ctrlKey || event.metaKey ? 'other' : 'enter' }),
  };

  #rows = () => [...this.#results.children] as HTMLElement[];

  #show(hits: Hit[]) {
    this.#hits = hits;
    this.#results.replaceChildren(...hits.map((h, n) => this.#row(h, n)));
    this.#q.setAttribute('aria-expanded', String(hits.length > 0));
    this.#select(0);
  }

  #select(n: number) {
    this.#at = Math.max(0, Math.min(n, this.#hits.length - 1));
    this.#rows().forEach((option, i) => option.setAttribute('aria-selected', String(i === this.#at)));
    const option = this.#rows()[this.#at];
    if (!option) return this.#q.removeAttribute('aria-activedescendant');
    this.#q.setAttribute('aria-activedescendant', option.id);
    option.scrollIntoView({ block: 'nearest' });
  }

  #row(h: Hit, n: number): HTMLElement {
    const option = document.createElement('div');
    const picture = document.createElement('img');
    const [name, license] = [document.createElement('span'), document.createElement('span')];
    picture.alt = '';
    picture.className = 'picture';
    name.className = 'name';
    name.textContent = `${h.pack}/${h.name}`;
    license.textContent = h.license + (h.commercialUse ? '' : ', non-commercial');
    option.append(picture, name, license);
    option.id = 'option-' + n;
    option.setAttribute('role', 'option');
    option.dataset.icon = `${h.pack}/${h.name}`;
    option.addEventListener('click', () => this.#select(n));
    option.addEventListener('dblclick', () => void this.use({ how: 'enter' }));
    this.host
      .client()
      .preview(h)
      .then(
        (svg) => (picture.src = dataURI(svg)),
        () => undefined, // a row without a picture is still of use
      );
    return option;
  }
}
