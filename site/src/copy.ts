// Buttons that copy the text of another element.
import { doc, say } from './page';

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
  if (button) void copy(doc.getElementById(button.dataset.copy!)!);
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
