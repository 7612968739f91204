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

/** Focuses the element of the new page that stands for one of the page before, or the first result. */
function refocus(before: Element, main: HTMLElement): void {
  const same = before.id ? doc.getElementById(before.id) : all('a', main).find((a) => a.getAttribute('href') === before.getAttribute('href'));
  const first = before.closest('.grid') ? find('.grid a', main) : null;
  (same ?? first ?? main).focus();
}

const selectHTML = /<select[^]*?<\/select>/g;
let selects: string[] = []; // those of the page

/** Parses a page. A select that the page shown has too has no options here, because reading and laying out a list of packs takes long. */
function parse(html: string): Document {
  const short = html.replace(selectHTML, (select) => (selects.includes(select) ? select.slice(0, select.indexOf('>')) + ' data-same></select>' : select));
  return new DOMParser().parseFromString(short, 'text/html');
}

/** Gives an element the content of another. Selects that stay the same are left where they are, if the elements around them stay the same. */
function renew(to: Element, from: Element): void {
  const olds = [...to.children];
  const news = [...from.children];
  const holds = (element: Element) => element.matches('[data-same]') || find('[data-same]', element);
  const around = (element: Element) => element.cloneNode() as Element;
  const alike = (old: Element | undefined, next: Element) => !!old && (next.matches('[data-same]') ? old.id === next.id : around(old).isEqualNode(around(next)));
  if (olds.length !== news.length || !holds(from) || !news.every((next, i) => !holds(next) || alike(olds[i], next))) {
    for (const same of all('[data-same]', from)) same.replaceWith(doc.getElementById(same.id)!);
    return to.replaceChildren(...from.childNodes);
  }
  news.forEach((next, i) => {
    if (!holds(next)) olds[i]!.replaceWith(next);
    else if (!next.matches('[data-same]')) renew(olds[i]!, next);
  });
}

const atOnce = 6; // icons that load at the same time, so that a key press needs to wait for few
let putOff: HTMLImageElement[] = [];
let start = 0; // the timer of their loading

/** Puts off the icons of a list that are not loaded yet, because a browser takes longer to draw 50 icons than to show a page. */
export function holdIcons(from: ParentNode): void {
  clearTimeout(start);
  putOff = [];
  for (const image of all<HTMLImageElement>('img[src][loading=lazy]', from)) {
    if (from === doc && image.complete) continue;
    image.dataset.src = image.getAttribute('src')!;
    image.removeAttribute('src');
  }
}

/** Loads the icons that were put off, after a pause in ms: those in the window one after the other. The browser loads the others when the user scrolls. */
export function loadIcons(pause = 0): void {
  clearTimeout(start);
  start = window.setTimeout(() => {
    const images = all<HTMLImageElement>('img[data-src]');
    const below = images.filter((image) => (image.closest('li') ?? image).getBoundingClientRect().top > innerHeight);
    putOff = images.filter((image) => !below.includes(image));
    below.forEach(load);
    for (let i = 0; i < atOnce; i++) loadNext();
  }, pause);
}

function load(image: HTMLImageElement): void {
  image.src = image.dataset.src!;
  delete image.dataset.src;
}

function loadNext(): void {
  const image = putOff.shift();
  if (!image) return;
  for (const end of ['load', 'error']) image.addEventListener(end, loadNext, { once: true });
  load(image);
}

/** Returns the items of lists in a page that is to be shown, each with the same item of the page that is, if there is one. */
function sameItems(to: Element, from: Element): [Element, Element][] {
  const href = (item: Element) => find('a', item)?.getAttribute('href');
  const shown = new Map(all('.grid > li', to).map((item) => [href(item), item]));
  return all('.grid > li', from).flatMap((item) => {
    const old = shown.get(href(item));
    return old?.isEqualNode(item) ? [[item, old]] : [];
  });
}

/** Replaces the main element of the page by that of another page of the site. Icons load after a pause in ms. */
export function show(html: string, pause = 0): void {
  const next = parse(html);
  const from = find('main', next);
  const to = find('main')!;
  if (!from) throw new Error('not a page');
  const focused = to.contains(doc.activeElement) ? doc.activeElement : null;
  const same = sameItems(to, from);
  holdIcons(from);
  renew(to, from);
  selects = html.match(selectHTML) ?? [];
  for (const [item, old] of same) item.replaceWith(old); // whose icon is drawn already
  requestAnimationFrame(() => loadIcons(pause)); // after the page is painted
  doc.title = next.title;
  if (focused) refocus(focused, to);
  doc.dispatchEvent(new Event('shown'));
}
