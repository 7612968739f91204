// The icons that the user has copied, saved or dragged lately, stored in this browser alone. The home page shows them.
import { doc, find, store, stored } from './page';

const most = 8;

/** Each is pack/name and the class of its picture. */
const read = () => stored('recent').split(',').filter((one) => /^[a-z0-9-]+\/[a-z0-9-]+ [mc]( l)?$/.test(one)).slice(0, most);

/** Puts the icon of the page first. */
function remember(): void {
  const icon = find('#add')?.dataset.icon;
  if (icon) store('recent', [`${icon} ${find('#customise')!.dataset.class}`, ...read().filter((one) => !one.startsWith(icon + ' '))].slice(0, most).join(','));
}

for (const event of ['click', 'dragstart']) {
  doc.addEventListener(event, ({ target }) => {
    if ((target as Element).closest('main :is([data-copy], [data-icon], [download], #png, #preview)') && find('#preview')) remember();
  });
}

function show(): void {
  const list = find('#recent ul');
  const icons = read();
  doc.documentElement.toggleAttribute('data-recent', icons.length > 0);
  list?.replaceChildren(...icons.map((one) => {
    const [ref, ...look] = one.split(' ');
    const item = doc.createElement('li');
    item.innerHTML = `<a href="/icon/${ref}" title="${ref}"><img class="${look.join(' ')}" src="/${ref}.svg" alt="${ref}" width="32" height="32"></a>`; // names of icons alone
    return item;
  }));
}

find('#forget')?.addEventListener('click', () => {
  store('recent', '');
  show();
});
for (const event of ['pageshow', 'storage']) addEventListener(event, show);
doc.addEventListener('shown', show);
