// Results that come as data, for a page that shows results already. Their SVGs are parts of the page, because a browser
// makes a document of each image; the elements of one search show the next; and two rows of icons come first.
import { holdIcons, loadIcons } from './icons';
import { doc, find } from './page';

/** A result: pack/name, the name of the pack, the class of its picture, whether it is non-commercial; viewBox and inside of its SVG, unless it is an image. */
type Icon = [ref: string, pack: string, look: string, restricted: number, box?: string, inside?: string];

/** The page of a search as data: its text, and parts of its HTML. */
export interface Found {
  query: string;
  title: string;
  heading: string;
  total: number;
  summary: string;
  pager: string;
  none: string;
  icons: Icon[];
}

/** An item of the list, and what it shows. */
interface Item {
  li: HTMLElement;
  link: HTMLAnchorElement;
  svg: SVGElement;
  image: HTMLImageElement;
  name: Text;
  pack: Text;
  flag: HTMLElement;
  inside: string;
}

const markup = '<li><a href=""><svg width="48" height="48" aria-hidden="true"></svg><span> </span> <small> </small> <small class="nc">Non-commercial</small></a></li>';

/** Makes elements of HTML that does not come from anywhere else. */
function make(html: string): HTMLElement {
  const template = doc.createElement('template');
  template.innerHTML = html;
  return template.content.firstElementChild as HTMLElement;
}

const items: Item[] = [];

/** Makes items, until there are as many as a page of results has. */
function prepare(count = 60): void {
  while (items.length < count) {
    const li = make(markup);
    const image = doc.createElement('img');
    image.alt = '';
    image.width = image.height = 48;
    image.decoding = 'async';
    const text = (selector: string) => find(selector, li)!.firstChild as Text;
    items.push({ li, link: find('a', li)!, svg: find<SVGElement>('svg', li)!, image, name: text('span'), pack: text('small'), flag: find('.nc', li)!, inside: '' });
    find('.nc', li)!.remove();
  }
}

const set = (element: Element, name: string, value: string) => element.getAttribute(name) !== value && element.setAttribute(name, value);

/** Lets an item show an icon. */
function fill(item: Item, [ref, pack, look, restricted, box, inside]: Icon): void {
  const { li, link, svg, image, flag } = item;
  set(link, 'href', '/icon/' + ref);
  item.name.data = ref.slice(ref.indexOf('/') + 1);
  item.pack.data = pack;
  if (restricted && !flag.parentNode) {
    li.className = 'r';
    link.append(' ', flag);
  } else if (!restricted && flag.parentNode) {
    li.removeAttribute('class');
    flag.previousSibling!.remove();
    flag.remove();
  }
  const picture = inside === undefined ? image : svg;
  set(picture, 'class', look);
  if (inside === undefined) {
    const address = `/${ref}.svg`;
    if (image.getAttribute('src') !== address) {
      image.removeAttribute('src');
      image.dataset.src = address;
    }
  } else {
    set(svg, 'viewBox', box!);
    if (item.inside !== inside) svg.innerHTML = item.inside = inside; // the origin lets shapes alone through
  }
  if (link.firstChild !== picture) link.firstChild!.replaceWith(picture);
}

let results: HTMLElement | undefined; // the element of the results that has the items
let heading: HTMLElement;
let list: HTMLElement;
let rows = 16; // icons in the first two rows
let turn = 0;

/** Puts the element of results into the main element, in the place of everything after the filters. */
function enter(main: HTMLElement): HTMLElement {
  if (results?.isConnected) return results;
  results = make('<div data-testid="results"><p class="muted"></p><h2 class="hide" id="h-results">Results</h2><ul class="grid" aria-labelledby="h-results"></ul></div>');
  [heading, list] = [find('h2', results)!, find('ul', results)!];
  for (const other of [...main.children].slice(1)) if (!other.matches('.facets')) other.remove();
  main.append(results);
  return results;
}

/** Shows results on a page of results. then is called when all are there, unless others come first. */
export function showFound(found: Found, then: () => void): void {
  const main = find('main')!;
  const { icons } = found;
  const mine = ++turn;
  holdIcons();
  prepare();
  find('h1', main)!.textContent = found.heading;
  const all = enter(main);
  all.dataset.query = found.query;
  const summary = all.firstElementChild!;
  summary.innerHTML = found.summary;
  if (icons.length && !list.isConnected) summary.after(heading, list);
  const last = icons.length ? list : summary;
  while (last.nextSibling) last.nextSibling.remove();
  const first = Math.min(rows, icons.length);
  for (let n = 0; n < first; n++) fill(items[n]!, icons[n]!);
  const count = list.childElementCount;
  if (count > first) list.replaceChildren(...elements(0, first));
  else list.append(...elements(count, first));
  list.classList.toggle('more', icons.length > first); // the footer stays where it is
  afterPaint(() => {
    if (mine !== turn) return;
    for (let n = first; n < icons.length; n++) fill(items[n]!, icons[n]!);
    list.append(...elements(first, icons.length));
    list.classList.remove('more');
    last.insertAdjacentHTML('afterend', icons.length ? found.pager : found.none);
    loadIcons(200);
    then();
    afterPaint(() => {
      if (mine === turn && first) rows = Math.min(2 * Math.floor(list.clientWidth / items[0]!.li.clientWidth), 24);
    });
  });
}

const elements = (from: number, to: number) => items.slice(from, to).map(({ li }) => li);

/** Runs a task when the next frame is painted, before the one after it. */
function afterPaint(task: () => void): void {
  requestAnimationFrame(() => requestAnimationFrame(task));
}

/** Gives up the items, because the page shows the main element of another page. */
export function forget(): void {
  turn++;
  results = undefined;
  items.length = 0;
}

export const isFound = (response: Response) => response.headers.get('Content-Type') === 'application/json';

find('#q')!.addEventListener('focus', () => setTimeout(prepare, 300));
