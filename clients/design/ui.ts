// The page of the plugins for Figma and Penpot: it searches, and sends what the user chooses to the plugin's code.
import { Client, defaults, insert, phrase, readSettings, type Hit } from '../core';
import { takesColor } from './color';
import { component } from '../core/react';
import { secretFor, tokenFor, type Secret } from '../core/secret';
import { fill, read } from '../picker/form';
import { get, Picker, type Use } from '../picker/picker';
import type { Style, ToCode, ToUI } from './message';

declare const HOST: 'figma' | 'penpot'; // of the build
declare const BASE: string; // address of the service that the build is for

let settings = { ...defaults, baseUrl: BASE };
let secret: Secret | undefined;
let client = new Client({ settings });
let agreed = false;
let credit = ''; // of the icon that is being inserted

/** In Figma the address is that of the build, because its manifest allows no other. */
const address = () => (HOST === 'figma' ? BASE : settings.baseUrl);

const picker = new Picker({
  client: () => client,
  use,
  agreed: async () => agreed,
  agree: async () => void (agreed = true),
  close: () => post({ type: 'close' }),
});

// The host's origin is not known to the page, so the message names none: https://developers.figma.com/docs/plugins/creating-ui
const post = (m: ToCode) => parent.postMessage(HOST === 'figma' ? { pluginMessage: m } : m, '*');

async function use(h: Hit, use: Use): Promise<string> {
  const { settings: changed, complaints } = read();
  if (complaints.length) return complaints.join(' ');
  const { color, size } = changed;
  const icon = await client.icon(h.pack, h.name, use.how === 'form' ? { color, size } : {});
  if (!(await picker.confirmed({ ...h, ...icon.credit }))) return 'Nothing was copied or inserted.';
  credit = `${h.pack}/${h.name}, ${icon.credit.license}: ${icon.credit.attribution}`;
  if (use.how === 'form') {
    await copy(insert(use.form, '', icon, { ...settings, color, size, cdn: h.cdn, component }));
    return 'Copied ' + credit;
  }
  const style = get<HTMLSelectElement>('style').value;
  const more = { ...(style && { style }), ...(!get<HTMLInputElement>('replace').checked && { replace: false }) };
  const { pack, name } = h;
  const chosen = { size: size || icon.height, color: color || '#000000' };
  const svg = color || style ? takesColor(icon.svg) : icon.svg;
  post({ type: 'insert', pack, name, svg, credit: phrase(icon.credit), ...chosen, ...more });
  return 'Inserting ' + credit;
}

/** Copies a text. Figma's frame has no permission for the clipboard of the document, only for the command. */
async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = document.createElement('textarea');
    field.value = text;
    (document.querySelector('dialog[open]') ?? document.body).append(field);
    field.select();
    const done = document.execCommand('copy');
    field.remove();
    get('q').focus();
    if (!done) throw new Error();
  }
}

function open(raw: object | undefined, stored: Secret | undefined): void {
  const all = readSettings({ ...raw });
  settings = { ...all.settings, ...((HOST === 'figma' || !raw) && { baseUrl: BASE }) };
  secret = stored && tokenFor(stored, address()) ? stored : undefined;
  client = new Client({ settings: { ...settings, baseUrl: address() }, token: tokenFor(secret, address()) });
}

function save(): void {
  const { settings: changed, complaints } = read();
  get('complaints').textContent = complaints.join(' ');
  if (complaints.length) return;
  const token = get<HTMLInputElement>('token');
  const base = HOST === 'figma' ? BASE : changed.baseUrl;
  open({ ...changed, baseUrl: base }, token.value.trim() ? secretFor(token.value.trim(), base) : secret);
  token.value = '';
  store('The settings are saved.');
  get<HTMLDialogElement>('settings').close();
}

function store(words: string): void {
  post({ type: 'save', settings, secret });
  picker.says(words);
}

function styles(list: Style[]): void {
  const none = new Option('none', '');
  get('style').replaceChildren(none, ...list.map((s) => new Option(s.name, s.id)));
}

const handlers: { [T in ToUI['type']]: (m: ToUI & { type: T }) => void } = {
  start: (m) => {
    open(m.settings, m.secret);
    fill(settings);
    styles(m.styles);
    theme(m.theme);
  },
  theme: (m) => theme(m.theme),
  inserted: (m) => picker.says(`Inserted ${credit || m.icon}` + (m.count > 1 ? ` (${m.count} times)` : '')),
  failed: (m) => picker.says(m.says),
  credits: (m) => {
    const text = get<HTMLTextAreaElement>('list-text');
    text.value = m.credits.join('\n') || 'This page has no icons of Iconedge.';
    get<HTMLDialogElement>('list').showModal();
    text.focus();
  },
};

function theme(name: string | undefined): void {
  if (name) document.documentElement.style.colorScheme = name === 'dark' ? 'dark' : 'light';
}

window.addEventListener('message', (event) => {
  if (event.source !== parent) return;
  const data = event.data as { pluginMessage?: ToUI } | null;
  const m = HOST === 'figma' ? data?.pluginMessage : (data as ToUI | null);
  if (m && Object.hasOwn(handlers, m.type)) (handlers[m.type] as (m: ToUI) => void)(m);
});

for (const id of ['color', 'size'])
  get(id).addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && !event.isComposing) void picker.use({ how: 'enter' });
  });
get('insert').addEventListener('click', () => void picker.use({ how: 'enter' }));
get('copy').addEventListener('click', () => picker.askForm());
get('credits').addEventListener('click', () => post({ type: 'credits' }));
get('list-close').addEventListener('click', () => get<HTMLDialogElement>('list').close());
get('list-copy').addEventListener('click', () => void copy(get<HTMLTextAreaElement>('list-text').value));
get('options').addEventListener('click', () => {
  fill({ ...settings, color: read().settings.color, size: read().settings.size });
  get<HTMLDialogElement>('settings').showModal();
});
get('cancel').addEventListener('click', () => get<HTMLDialogElement>('settings').close());
get('forget').addEventListener('click', () => {
  open(settings, undefined);
  store('The token is deleted.');
  get<HTMLDialogElement>('settings').close();
});
get('form').addEventListener('submit', (event) => {
  event.preventDefault();
  save();
});
styles([]);
fill(settings);
get('q').focus();
post({ type: 'ready' });
