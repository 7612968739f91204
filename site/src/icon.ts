// The page of an icon: its customisation and the download as PNG.
import { all, doc, find, say } from './page';

const form = find<HTMLFormElement>('#customise');
const field = (id: string) => find<HTMLInputElement>('#' + id)!;

/** The canonical form of a colour, if so with an alpha of ff; undefined, if it is none. */
function canonical(colour: string, whole = false): string | undefined {
  let hex = /^#?([0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})$/i.exec(colour)?.[1]?.toLowerCase();
  if (hex && hex.length < 6) hex = hex.replace(/./g, '$&$&');
  return hex && '#' + (hex.length === 8 && hex.endsWith('ff') && !whole ? hex.slice(0, 6) : hex);
}

/** The canonical value of a field; empty, if the field is, or is wrong. */
function valueOf(input: HTMLInputElement): string {
  const typed = input.disabled ? '' : input.value.trim();
  if (input.type === 'text') return canonical(typed, input.id === 'secondary') ?? '';
  return input.type === 'number' && typed ? String(Math.round(+typed * 100) / 100) : typed;
}

/** The query of the form, in the edge's spelling; undefined, if a field is wrong. */
function query(): string | undefined {
  const [width, height] = form!.dataset.size!.split(' ').map(Number) as [number, number];
  const ratio = +field('rotate').value % 180 ? height / width : width / height;
  // The padding leaves room for the icon: its smaller side is that of the picture without it.
  const side = (+field('size').value || (+field('rotate').value % 180 ? width : height)) * Math.min(1, ratio);
  field('padding').max = String(Math.ceil(side / 2) - 1);
  const q = new URLSearchParams();
  let right = true;
  for (const input of all<HTMLInputElement>('[name]', form!)) {
    const value = valueOf(input);
    const wrong = !input.validity.valid || (input.type === 'text' && !value && !input.disabled && !!input.value.trim());
    input.ariaInvalid = wrong ? 'true' : null;
    right &&= !wrong;
    const beside = find<HTMLInputElement>('.pair > [name] + *', input.parentElement!); // a slider or a palette that shows the same
    if (value && beside) beside.value = beside.type === 'color' ? value.slice(0, 7) : value;
    if (value && value !== '0' && (input.id !== 'radius' || q.has('background'))) q.set(input.id, value);
  }
  const s = q.toString();
  return right ? s && '?' + s : undefined;
}

/** Fills in the code that is too long for the page. */
async function fill(): Promise<void> {
  const codes = all('#use [data-fill]');
  if (!codes.length) return;
  const file = find<HTMLAnchorElement>('#svg-file')!;
  const address = file.href;
  const response = await fetch(address);
  const svg = await response.text();
  if (!response.ok || file.href !== address) return; // a later change of the form fills the code in
  for (const code of codes) code.textContent = code.id === 's-svg' ? svg : 'data:image/svg+xml,' + encodeURIComponent(svg);
}

let timer = 0;
let turn = 0;

/** Shows what the form says: at once in the address and the preview, and in the code when the page has come. */
function customise(): void {
  const q = query();
  if (q === undefined) return;
  const path = form!.dataset.path!;
  const url = find('#url')!;
  const preview = find<HTMLImageElement>('#preview')!;
  const before = url.textContent!;
  url.textContent = before.slice(0, before.indexOf(path)) + path + q;
  preview.src = path + q;
  preview.className = /color=|secondary=|background=/.test(q) ? 'k' : form!.dataset.class!;
  find<HTMLAnchorElement>('#svg-file')!.href = path + q;
  history.replaceState(null, '', form!.getAttribute('action') + q);
  for (const code of all('#use code')) code.textContent = code.textContent!.replaceAll(before + '"', url.textContent + '"').replaceAll(before + ')', url.textContent + ')');
  clearTimeout(timer);
  const mine = ++turn;
  const current = () => mine === turn && form!.isConnected; // results may have come in the place of the icon
  timer = window.setTimeout(() => {
    fetch(form!.getAttribute('action') + q)
      .then((response) => (response.ok ? response.text() : Promise.reject(new Error(String(response.status)))))
      .then((html) => {
        const page = new DOMParser().parseFromString(html, 'text/html');
        if (!find('#use', page) || !current()) return;
        for (const part of ['#use', '#pngs']) find(part)!.replaceChildren(...find(part, page)!.childNodes);
        return fill();
      })
      .catch(() => current() && say('The code below could not be renewed; the address above is right.', { lasting: true }));
  }, 100);
}

/** Saves the icon as a PNG, with the size as its larger side. */
async function png(): Promise<void> {
  const link = find<HTMLAnchorElement>('#svg-file')!;
  const size = +field('size').value || 512;
  const svg = await (await fetch(link.href)).blob();
  const image = new Image();
  image.src = URL.createObjectURL(svg);
  await image.decode();
  const scale = size / Math.max(image.naturalWidth, image.naturalHeight);
  const canvas = doc.createElement('canvas');
  canvas.width = Math.max(1, Math.round(image.naturalWidth * scale));
  canvas.height = Math.max(1, Math.round(image.naturalHeight * scale));
  canvas.getContext('2d')!.drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(image.src);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done));
  if (!blob) throw new Error('no image');
  const save = doc.createElement('a');
  save.download = link.download.replace(/\.svg$/, `-${size}.png`);
  save.href = URL.createObjectURL(blob);
  save.click();
  setTimeout(() => URL.revokeObjectURL(save.href), 10_000);
}

if (form) {
  fill().catch(() => {}); // the link to the SVG stays
  form.addEventListener('input', (event) => {
    const { value, previousElementSibling } = event.target as HTMLInputElement;
    if (previousElementSibling?.matches('.pair > [name]')) (previousElementSibling as HTMLInputElement).value = value;
    customise();
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    customise();
  });
  find('#png')!.addEventListener('click', () => void png().catch(() => say('This browser could not make the PNG.')));
}
