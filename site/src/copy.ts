// Buttons that copy the text of another element.
import { doc, find, say, store, stored } from './page';

/** Copies where the page has no clipboard, as over plain HTTP. */
function copyBySelection(text: string): void {
  const area = doc.createElement('textarea');
  area.value = text;
  area.className = 'hide';
  const before = doc.activeElement as HTMLElement | null;
  doc.body.append(area);
  area.select();
  const copied = doc.execCommand('copy');
  area.remove();
  before?.focus();
  if (!copied) throw new Error('refused');
}

doc.addEventListener('click', (event) => {
  const button = (event.target as Element).closest<HTMLElement>('[data-copy]');
  if (!button) return;
  const id = button.dataset.copy!;
  void copy(doc.getElementById(id)!);
  if (id.startsWith('s-')) store('copy', id);
});

// The kind of code that the user copied last comes first.
const last = doc.getElementById(stored('copy'))?.closest('#use > *');
if (last) find('#use')!.prepend(last);

// An icon that is dragged into another program is an SVG there, and a link to a PNG is a PNG: a file, an image or an
// address. The browser fetches the file when it is dropped, so that nothing has to be ready before.
doc.addEventListener('dragstart', (event) => {
  const target = event.target as Element;
  const ref = /^\/(?:icon\/)?([^/]+)\/([^/]+?)(?:\.(svg|png)(\?.*)?)?$/.exec(target.closest('.grid a, #recent a, #pngs a')?.getAttribute('href') ?? target.closest('#preview')?.getAttribute('src') ?? '');
  if (!ref || !event.dataTransfer) return;
  const [, pack, name, kind = 'svg', query = ''] = ref;
  const address = `${location.origin}/${pack}/${name}.${kind}${query}`;
  event.dataTransfer.setData('DownloadURL', `image/${kind === 'svg' ? 'svg+xml' : kind}:${pack}-${name}.${kind}:${address}`);
  event.dataTransfer.setData('text/uri-list', address);
  event.dataTransfer.setData('text/html', `<img src="${address.replaceAll('&', '&amp;')}" alt="">`);
  event.dataTransfer.setData('text/plain', address);
});

async function copy(source: HTMLElement): Promise<void> {
  const text = source.textContent;
  if (!text) return say('This code has not loaded, so there is nothing to copy.');
  try {
    if (navigator.clipboard) await navigator.clipboard.writeText(text);
    else copyBySelection(text);
    say('Copied');
  } catch {
    getSelection()?.selectAllChildren(source);
    say('The browser refuses access to the clipboard. The text is selected: press Ctrl+C or ⌘C.', { lasting: true });
  }
}
