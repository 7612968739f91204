// The loading of the icons of lists while the user types. A browser makes a document of each SVG image, so that 50 icons
// take it longer than a page, and a key press would wait for them.
import { all, find } from './page';

const atOnce = 4; // more would keep a key press waiting
const near = new IntersectionObserver(arrive, { rootMargin: '100%' });
const waiting = new Set<HTMLImageElement>();
const loading = new Set<HTMLImageElement>();
let start = 0; // the timer of their loading

/** Adds the icons that come near the window to those that load. */
function arrive(entries: IntersectionObserverEntry[]): void {
  for (const { isIntersecting, target } of entries) {
    const image = isIntersecting && find<HTMLImageElement>('img[data-src]', target);
    if (image) waiting.add(image);
  }
  loadNext();
}

function loadNext(): void {
  for (const image of waiting) {
    if (loading.size >= atOnce) return;
    waiting.delete(image);
    loading.add(image);
    const next = () => loading.delete(image) && loadNext();
    for (const end of ['load', 'error']) image.addEventListener(end, next, { once: true });
    image.loading = 'eager'; // a browser that puts off icons sooner would keep the others waiting
    image.src = image.dataset.src!;
    delete image.dataset.src;
  }
}

/** Stops the loading of icons, until loadIcons. */
export function holdIcons(): void {
  clearTimeout(start);
  near.disconnect();
  waiting.clear();
  loading.clear();
  for (const image of all<HTMLImageElement>('li img[src]')) {
    if (image.complete) continue;
    image.dataset.src = image.getAttribute('src')!;
    image.removeAttribute('src');
  }
}

/** Loads the icons near the window that are not loaded, after a pause in ms. */
export function loadIcons(pause = 0): void {
  clearTimeout(start);
  start = window.setTimeout(() => {
    near.disconnect(); // else an item that it knows would not arrive with another icon
    for (const item of all('li:has(> * > img[data-src])')) near.observe(item);
  }, pause);
}
