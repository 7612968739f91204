// The bag: the icons that the user has chosen, stored in this browser.
import { all, doc, find, say, store, stored } from './page';
import { show } from './show';

const most = 500; // icons
const longest = 8000; // characters in an address

const read = () => stored('bag').split(',').filter((name) => /^[a-z0-9-]+\/[a-z0-9-]+$/.test(name)).slice(0, most);

/** The icons of a bag in an address: a pack is there once before its icons. */
const listed = (names: string[]) => names.map((name, n) => (n && name.split('/')[0] === names[n - 1]!.split('/')[0] ? name.split('/')[1] : name)).join(',');

function write(names: string[]): void {
  const list = names.sort().join(',');
  if (names.length > most) return say(`The bag is full: it takes ${most} icons.`);
  if (listed(names).length > longest) return say('The bag is full: its address would be too long.');
  const kept = store('bag', list);
  update();
  if (!kept) say('This browser stores nothing: the bag lasts until you leave the page.');
}

/** Shows the state of the bag in the page. */
function update(): void {
  const names = read();
  find('#bag-count')!.textContent = names.length ? String(names.length) : '';
  doc.documentElement.toggleAttribute('data-bag', names.length > 0);
  for (const button of all('[data-icon]')) button.ariaPressed = String(names.includes(button.dataset.icon!));
}

const unreachable = () => say('There is no network to show the bag.', { lasting: true });

let turn = 0;

/** Fills the page of the bag with the stored icons, unless the bag changes or another page is shown meanwhile. */
async function fill(): Promise<void> {
  const names = read();
  if (!find('#bag[data-stored]') || (!names.length && !find('#bag[data-shared]'))) return;
  const mine = ++turn;
  const response = await fetch('/bag' + (names.length ? '?icons=' + listed(names) : ''));
  const html = await response.text();
  if (mine !== turn || !find('#bag[data-stored]')) return;
  if (response.status !== 200) return say('The bag can not be shown at the moment.', { lasting: true });
  show(html);
  find('#bag')?.setAttribute('data-stored', '');
}

doc.addEventListener('click', (event) => {
  const button = (event.target as Element).closest<HTMLElement>('[data-icon], [data-remove], [data-available]');
  if (!button) return;
  if ('available' in button.dataset) { // keeps the icons that the page shows
    write(all('[data-remove]').map((shown) => shown.dataset.remove!));
    return void fill().catch(unreachable);
  }
  const name = button.dataset.icon ?? button.dataset.remove!;
  const names = read();
  const had = names.includes(name);
  write(had ? names.filter((other) => other !== name) : [...names, name]);
  if (button.dataset.remove) fill().catch(unreachable);
});

doc.addEventListener('shown', update);

/** Shows the bag as it is now. */
function refresh(): void {
  update();
  fill().catch(unreachable);
}

addEventListener('storage', ({ key }) => { // another tab has changed it
  if (!key || key === 'bag') refresh();
});
addEventListener('pageshow', ({ persisted }) => { // the browser shows a page again that it stored to go back to it
  if (persisted) refresh();
});
refresh();
