// What all parts of the script use: elements, messages, storage.

export const doc = document;

/** The first element for a selector. */
export const find = <T extends Element = HTMLElement>(selector: string, from: ParentNode = doc) => from.querySelector<T>(selector);

/** All elements for a selector. */
export const all = <T extends Element = HTMLElement>(selector: string, from: ParentNode = doc) => [...from.querySelectorAll<T>(selector)];

const status = find('#status')!;
let timer = 0;

/** Shows a message, and has screen readers read it. A lasting one stays until the next. A quiet one is only read. */
export function say(message: string, { lasting = false, quiet = false } = {}): void {
  clearTimeout(timer);
  status.classList.toggle('hide', quiet);
  status.textContent = message;
  if (!lasting) timer = window.setTimeout(() => (status.textContent = ''), 5000);
}

const memory = new Map<string, string>();

/** The stored value of a key. If the browser refuses storage, values live as long as the page. */
export function stored(key: string): string {
  try {
    return memory.get(key) ?? localStorage.getItem(key) ?? '';
  } catch {
    return memory.get(key) ?? '';
  }
}

/** Stores a value, and reports whether the browser did. */
export function store(key: string, value: string): boolean {
  try {
    localStorage.setItem(key, value);
    memory.delete(key);
    return true;
  } catch {
    memory.set(key, value);
    return false;
  }
}
