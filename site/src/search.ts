// Search while typing: the script fetches the page of results that the form would open, and shows its main element.
import { all, doc, find, say, show } from './page';

const box = find<HTMLInputElement>('#q')!;
const minGap = 30; // ms between two requests
const burst = 40; // requests in 10 s, after which the gap is longer, because a client has 300 a minute
const longGap = 250;

let shown = location.pathname + location.search; // the address whose main element is on the page
let wanted = shown;
let turn = 0;
let timer = 0;
let sent: number[] = [];
let notBefore = 0; // after a 429
let request: AbortController | undefined;
let announcement = 0;

const onResults = () => location.pathname === '/search';

/** The address of the results of the box and the filters. */
function address(): string {
  const query = new URLSearchParams();
  const filters = onResults() ? find<HTMLFormElement>('form.filters') : null;
  const text = box.value.trim();
  if (text) query.set('q', text);
  if (filters) {
    for (const [name, value] of new FormData(filters)) {
      if (name !== 'q' && value) query.set(name, String(value));
    }
  }
  const q = query.toString();
  return '/search' + (q && '?' + q);
}

/** Asks for a page; of several in short succession, only for the last. */
function want(url: string): void {
  if (url === wanted && url === shown) return;
  wanted = url;
  turn++; // the response to an earlier request is not shown
  clearTimeout(timer);
  const now = Date.now();
  sent = sent.filter((at) => at > now - 10_000);
  const gap = sent.length > burst ? longGap : minGap;
  const at = Math.max((sent.at(-1) ?? 0) + gap, notBefore);
  if (at <= now) void send();
  else timer = window.setTimeout(() => void send(), at - now);
}

async function send(): Promise<void> {
  const url = wanted;
  const mine = turn;
  request?.abort();
  request = new AbortController();
  sent.push(Date.now());
  try {
    const response = await fetch(url, { signal: request.signal, headers: { Accept: 'text/html' } });
    if (mine !== turn) return;
    if (response.status === 429) {
      const wait = Number(response.headers.get('Retry-After')) || 1;
      notBefore = Date.now() + wait * 1000;
      wanted = shown;
      return say(`Too many searches at once. Type again in ${wait} ${wait === 1 ? 'second' : 'seconds'}.`, { lasting: true });
    }
    if (!response.headers.get('Content-Type')?.startsWith('text/html')) throw new Error('not a page');
    const html = await response.text();
    if (mine !== turn) return;
    show(html);
    enter(url);
    clearTimeout(announcement);
    say('');
    announcement = window.setTimeout(announce, 700);
  } catch (error) {
    if (mine !== turn || (error as Error).name === 'AbortError') return;
    wanted = shown;
    say(navigator.onLine ? 'The server did not answer. Type again to retry.' : 'There is no network. The results stay; type again to retry.', { lasting: true });
  }
}

/** Puts the address of the results into the history: one entry for each visit to the results. */
function enter(url: string): void {
  if (onResults()) history.replaceState(null, '', url);
  else history.pushState(null, '', url);
  shown = wanted = url;
}

function announce(): void {
  const total = find('[data-testid=total]')?.textContent;
  if (total) say(`${total} ${total === '1' ? 'result' : 'results'}`, { quiet: true });
}

box.addEventListener('input', () => want(address()));

doc.addEventListener('change', (event) => {
  if ((event.target as Element).closest('form.filters') && onResults()) want(address());
});

doc.addEventListener('submit', (event) => {
  const form = event.target as HTMLFormElement;
  if (form.role !== 'search' && !(form.matches('.filters') && onResults())) return;
  event.preventDefault();
  want(address());
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
      want(address());
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
