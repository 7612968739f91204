// Showing the main element of another page of the site in this document.
import { loadIcons } from './icons';
import { all, doc, find } from './page';

const selectHTML = /<select[^]*?<\/select>/g;
let selects: string[] = []; // those of the page

/** Parses the title and the main element of a page. A select that the page shown has too has no options here, because
 * reading and laying out a list of packs takes long; images have no src, so that none loads. found gets its selects. */
function parse(html: string, found: string[]): DocumentFragment {
  const part = (name: string) => html.slice(html.indexOf('<' + name), html.indexOf(`</${name}>`) + name.length + 3);
  const short = (part('title') + part('main'))
    .replace(selectHTML, (select) => {
      found.push(select);
      return selects.includes(select) ? select.slice(0, select.indexOf('>')) + ' data-same></select>' : select;
    })
    .replace(/(<img[^>]*) src=/g, '$1 data-src=');
  const range = doc.createRange(); // its elements belong to this document; adopting images from another one takes long
  range.selectNode(find('main')!);
  return range.createContextualFragment(short);
}

type Reuse = (next: Element) => Element;

/** Returns a function that gives the element to show for one of the next page: of the page shown an image that is drawn
 * already, or a select with the same options, or else the element itself. */
function reusing(main: Element): Reuse {
  const known = new Map(all('select', main).map((select) => [select.id, select]));
  for (const image of all<HTMLImageElement>('.grid img[src]', main)) if (image.complete) known.set(image.getAttribute('src')!, image);
  return (next) => known.get(next.getAttribute('data-src') ?? (next.hasAttribute('data-same') ? next.id : '')) ?? next;
}

/** Lets the elements within a node of the next page be those to reuse. */
function settle(node: Node, reuse: Reuse): Node {
  if (node instanceof Element) for (const inner of all('img, [data-same]', node)) put(reuse(inner), inner);
  return node;
}

/** Puts an element in the place of another, which goes to its place if it is on the page. */
function put(element: Element, old: Element): void {
  if (element === old) return;
  const { isConnected, parentNode, nextSibling } = element;
  old.replaceWith(element);
  if (isConnected) parentNode!.insertBefore(old, nextSibling);
}

/** Reports whether an element can become another. Fields and drawn images have a state besides their attributes, and
 * elements with an id have listeners. */
const alike = (old: Element, next: Element) => old.nodeName === next.nodeName && old.id === next.id && !/^(INPUT|SELECT)$/.test(old.nodeName) && !old.hasAttribute('src');

/** Gives an element the attributes and the content of another. It replaces few nodes, because a browser takes half as long
 * to lay out and to paint a list with other names as to make another list. */
function become(old: Element, next: Element, reuse: Reuse): void {
  if (next.hasAttributes() || old.hasAttributes()) {
    const names = next.getAttributeNames();
    for (const name of names) if (old.getAttribute(name) !== next.getAttribute(name)) old.setAttribute(name, next.getAttribute(name)!);
    for (const name of old.getAttributeNames()) if (!names.includes(name)) old.removeAttribute(name);
  }
  let before = old.firstChild;
  let child = next.firstChild;
  while (child) {
    const after: ChildNode | null = before && before.nextSibling;
    const following: ChildNode | null = child.nextSibling; // the child may move
    if (!before) old.append(settle(child, reuse));
    else if (child instanceof Text && before instanceof Text) {
      if (before.data !== child.data) before.data = child.data;
    } else if (child instanceof Element && before instanceof Element) {
      const element = reuse(child);
      if (element !== child) put(element, before);
      else if (alike(before, child)) become(before, child, reuse);
      else before.replaceWith(settle(child, reuse));
    } else before.replaceWith(settle(child, reuse));
    before = after;
    child = following;
  }
  while (before) {
    const after: ChildNode | null = before.nextSibling;
    before.remove();
    before = after;
  }
}

/** Returns a function that focuses the element which stands for the focused one of the page before, or the first result. */
function refocus(main: HTMLElement): () => void {
  const before = main.contains(doc.activeElement) ? doc.activeElement : null;
  if (!before) return () => {};
  const { id } = before;
  const href = before.getAttribute('href');
  const inGrid = before.closest('.grid');
  return () => {
    const same = id ? doc.getElementById(id) : href && all('a', main).find((a) => a.getAttribute('href') === href);
    (same || (inGrid ? find<HTMLElement>('.grid a', main) : null) || main).focus();
  };
}

/** Gives the page the main element of another page of the site. Icons load after a pause in ms. */
export function show(html: string, pause = 0): void {
  const found: string[] = [];
  const next = parse(html, found);
  const from = find('main', next);
  const to = find('main')!;
  if (!from) throw new Error('not a page');
  const focus = refocus(to);
  become(to, from, reusing(to));
  selects = found;
  loadIcons(pause);
  doc.title = find('title', next)!.textContent!;
  focus();
  doc.dispatchEvent(new Event('shown'));
}
