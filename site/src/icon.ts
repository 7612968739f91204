// The page of an icon: its customisation and the download as PNG.
import { all, doc, find, say } from './page';

const form = find<HTMLFormElement>('#customise');
const field = (id: string) => find<HTMLInputElement>('#' + id)!;

// The width of strokes and the second colour are for icons that can have them. Each has a field beside it that shows
// the same: a slider, a palette.
const [stroke, slide, second, palette] = ['stroke', 'slide', 'secondary', 'palette'].map((id) => find<HTMLInputElement>('#' + id));

/** The canonical form of a colour, if so with an alpha of ff; undefined, if it is none. */
function canonical(colour: string, whole = false): string | undefined {
  let hex = /^#?([0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})$/i.exec(colour)?.[1]?.toLowerCase();
  if (hex && hex.length < 6) hex = hex.replace(/./g, '$&$&');
  return hex && '#' + (hex.length === 8 && hex.endsWith('ff') && !whole ? hex.slice(0, 6) : hex);
}

/** The query of the form, in the edge's spelling; undefined, if a field is wrong. */
function query(): string | undefined {
  const colour = field('color');
  const size = field('size');
  const typed = colour.disabled ? '' : colour.value.trim();
  const hex = canonical(typed);
  const typedSecond = second?.value.trim() ?? '';
  const hexSecond = canonical(typedSecond, true);
  const wrong: [HTMLInputElement, boolean][] = [
    [colour, !!typed && !hex],
    [size, size.validity.badInput || (!!size.value && !(Number.isInteger(+size.value) && +size.value >= 1 && +size.value <= 4096))],
  ];
  if (stroke) wrong.push([stroke, stroke.validity.badInput || (!!stroke.value && !(+stroke.value >= 0.25 && +stroke.value <= 4))]);
  if (second) wrong.push([second, !!typedSecond && !hexSecond]);
  for (const [input, is] of wrong) {
    if (is) input.ariaInvalid = 'true';
    else input.ariaInvalid = null;
  }
  if (wrong.some(([, is]) => is)) return undefined;
  if (hex) field('pick').value = hex.slice(0, 7);
  if (hexSecond) palette!.value = hexSecond.slice(0, 7);
  if (stroke?.value) slide!.value = stroke.value;
  const q = new URLSearchParams();
  if (hex) q.set('color', hex);
  if (size.value) q.set('size', String(+size.value));
  for (const id of ['rotate', 'flip']) if (field(id).value) q.set(id, field(id).value);
  if (stroke?.value) q.set('stroke', String(Math.round(+stroke.value * 100) / 100));
  if (hexSecond) q.set('secondary', hexSecond);
  const s = q.toString();
  return s && '?' + s;
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
  preview.className = /color=|secondary=/.test(q) ? 'k' : form!.dataset.class!;
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
    if ((event.target as Element).id === 'pick') field('color').value = field('pick').value;
    if (event.target === slide) stroke!.value = slide!.value;
    if (event.target === palette) second!.value = palette!.value;
    customise();
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    customise();
  });
  find('#png')!.addEventListener('click', () => void png().catch(() => say('This browser could not make the PNG.')));
}
