// Search while typing: the script fetches the page of results that the form would open, and shows its main element.
import { type Found, forget, isFound, showFound } from './found';
import { holdIcons, loadIcons } from './icons';
import { all, doc, find, say } from './page';
import { show } from './show';

const box = find<HTMLInputElement>('#q')!;
const minGap = 30; // ms between two requests
const longGap = 250; // when few requests are left of those that the server allows in a minute
const few = 60;
const again = 'The results stay; type again to retry.';
const typing = 200; // ms without a key after which icons load

const onResults = () => location.pathname === '/search';

// The address whose main element is on the page. Offline the home page, which has a canonical address, may stand for results.
let shown = onResults() && find('link[rel=canonical]') ? '' : location.pathname + location.search;
let wanted = shown;
let turn = 0;
let timer = 0;
let sent = 0; // the time of the last request
let gap = minGap;
let notBefore = 0; // after a 429
let failed = ''; // the message about the last request
let request: AbortController | undefined;
let pause = 0; // its timer
let scrolled = false; // a call of scrollTo would lay the page out one more time
addEventListener('scroll', () => (scrolled = scrollY > 0), { passive: true });

/** The address of the results of the box and the filters, or of the packs that pass the filters. */
function address(filters = onResults() ? find<HTMLFormElement>('form.filters') : null, typed = box.value): string {
  const path = filters?.getAttribute('action') ?? '/search';
  const query = new URLSearchParams();
  const text = typed.trim();
  if (text && path === '/search') query.set('q', text);
  if (filters) {
    for (const [name, value] of new FormData(filters)) {
      if (name !== 'q' && value) query.set(name, String(value));
    }
  }
  const q = query.toString();
  return path + (q && '?' + q);
}

/** Reports whether a page is that of another query with the same filters, so that data are enough to show it. */
function isNear(url: string): boolean {
  const [there, here] = [url, shown].map((address) => new URL(address, location.href));
  const text = there!.searchParams.get('q');
  for (const { searchParams } of [there!, here!]) {
    for (const name of ['q', 'page']) searchParams.delete(name);
    searchParams.sort();
  }
  return !!text && there!.pathname === '/search' && there!.href === here!.href && !!find('main .filters[action="/search"]');
}

/** Asks for a page; of several in short succession, only for the last. */
function want(url: string): void {
  if (url === wanted && url !== shown) return; // the request is on its way
  wanted = url;
  turn++; // the response to an earlier request is not shown
  clearTimeout(timer);
  if (url === shown) {
    request?.abort();
    loadIcons(typing);
    if (failed) say((failed = ''));
    return;
  }
  holdIcons();
  const now = Date.now();
  const at = Math.max(sent + gap, notBefore);
  if (at <= now) void send();
  else timer = window.setTimeout(() => void send(), at - now);
}

async function send(): Promise<void> {
  const url = wanted;
  const mine = turn;
  request?.abort();
  request = new AbortController();
  sent = Date.now();
  try {
    const response = await fetch((isNear(url) ? '/-' : '') + url, { signal: request.signal });
    gap = Number(/;r=(\d+)/.exec(response.headers.get('RateLimit') ?? '')?.[1] ?? few) < few ? longGap : minGap;
    if (mine !== turn) return;
    if (response.status === 429) {
      const wait = Number(response.headers.get('Retry-After')) || 1;
      notBefore = Date.now() + wait * 1000;
      wanted = shown;
      return fail(`Too many searches at once. Type again in ${wait} ${wait === 1 ? 'second' : 'seconds'}.`);
    }
    const data = isFound(response);
    if (response.status >= 500 || !(data || response.headers.get('Content-Type')?.startsWith('text/html'))) {
      wanted = shown;
      return fail(`The server has no results at the moment (${response.status}). ${again}`);
    }
    const body = await (data ? response.json() : response.text());
    if (mine !== turn) return;
    clearTimeout(pause);
    if (scrolled) scrollTo(0, 0);
    if (data) {
      shown = url; // a key may come before all are there
      showFound(body as Found, () => {
        doc.title = (body as Found).title;
        find<HTMLInputElement>('.filters [name=q]')!.defaultValue = (body as Found).query;
        for (const chip of all<HTMLAnchorElement>('.facets a')) {
          const there = new URL(chip.href);
          there.searchParams.delete('q');
          const others = there.searchParams.toString();
          chip.setAttribute('href', `/search?${new URLSearchParams({ q: (body as Found).query })}${others && '&' + others}`);
        }
        finish(url);
      });
    } else {
      forget();
      show(body as string, typing);
      finish(url);
    }
  } catch (error) {
    if (mine !== turn || (error as Error).name === 'AbortError') return;
    wanted = shown;
    fail(`${navigator.onLine ? 'There is no connection to the server' : 'You are offline: there is no network'}. ${again}`);
  }
}

/** Says what is shown, once it is. */
function finish(url: string): void {
  enter(url);
  say((failed = ''));
  pause = window.setTimeout(() => {
    announce();
    if (navigator.serviceWorker?.controller) keep(url).catch(() => {}); // the browser may refuse storage
  }, 700);
}

/** Stores a page, to open it offline. */
const keep = async (url: string) => (await caches.open('site')).add(url);

/** Shows why there are no new results, until there are. */
function fail(message: string): void {
  loadIcons();
  say((failed = message), { lasting: true });
}

/** Puts the address of the results into the history: one entry for each visit to the results. */
function enter(url: string): void {
  if (url.split('?')[0] === location.pathname) history.replaceState(null, '', url);
  else {
    history.pushState(null, '', url);
    find('link[rel=canonical]')?.remove(); // it is that of the page before
  }
  shown = url;
}

function announce(): void {
  const total = find('[data-testid=total]')?.textContent;
  if (total) say(`${total} ${total === '1' ? 'result' : 'results'}`, { quiet: true });
}

/** Asks for the results of the box; without text, on other pages than that of the results, for the page itself. */
const search = () => want(onResults() || box.value.trim() ? address() : shown);

box.addEventListener('input', search);

// A key at the end of the text says which text comes, some milliseconds before the browser has changed the field.
addEventListener('keydown', (event) => {
  const { key, target, defaultPrevented } = event;
  const { value, selectionStart, maxLength } = box;
  if (target !== box || defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey || [...key].length !== 1) return;
  if (onResults() && selectionStart === value.length && value.length < maxLength) want(address(undefined, value + key));
});

doc.addEventListener('change', (event) => {
  const filters = (event.target as Element).closest<HTMLFormElement>('form.filters');
  if (filters) want(address(filters));
});

doc.addEventListener('click', (event) => {
  const chip = (event.target as Element).closest<HTMLAnchorElement>('.facets a');
  if (!chip || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  want(chip.pathname + chip.search);
});

doc.addEventListener('submit', (event) => {
  const form = event.target as HTMLFormElement;
  const filters = form.matches('.filters');
  if (form.role !== 'search' && !filters) return;
  event.preventDefault();
  want(filters ? address(form) : address());
});

// Back and forward between pages of this document. An address with another fragment is the same page.
addEventListener('popstate', () => {
  if (location.pathname + location.search !== shown) location.reload();
});

/** The number of links in the first row of a grid. */
function columns(links: HTMLElement[]): number {
  const top = links[0]!.getBoundingClientRect().top;
  const second = links.findIndex((link) => link.getBoundingClientRect().top > top + 1);
  return second < 0 ? links.length : second;
}

const toBox = () => {
  box.focus();
  box.select();
};

doc.addEventListener('keydown', (event) => {
  const target = event.target as HTMLElement;
  const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
  if ((event.key === '/' && plain && !target.closest('input, textarea, select, [contenteditable]')) || (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey) && !event.altKey)) {
    event.preventDefault();
    return toBox();
  }
  if (!plain || event.shiftKey || event.isComposing) return;
  if (target === box) {
    if (event.key === 'ArrowDown') {
      const first = find('.grid a');
      if (first) {
        event.preventDefault();
        first.focus();
      }
    } else if (event.key === 'Escape' && box.value) {
      event.preventDefault();
      box.value = '';
      search();
    }
    return;
  }
  const grid = target.closest('.grid');
  if (!grid || target.tagName !== 'A') return;
  const links = all('a', grid);
  const at = links.indexOf(target);
  const row = columns(links);
  const move: Record<string, number> = { ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + row, ArrowUp: at - row, Home: 0, End: links.length - 1 };
  const to = event.key === 'Escape' ? -1 : move[event.key];
  if (to === undefined) return;
  event.preventDefault();
  if (event.key === 'Escape' || (event.key === 'ArrowUp' && to < 0)) toBox();
  else if (event.key === 'ArrowDown' && to >= links.length) {
    if (Math.floor(at / row) < Math.floor((links.length - 1) / row)) links.at(-1)!.focus();
  } else links[to]?.focus();
});
