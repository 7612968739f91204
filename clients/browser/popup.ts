import { dataURI, Fault, forms, insert, Search, type Client, type Form, type Hit } from '../core';
import { component } from '../core/react';
import { insertIntoPage } from './page';
import { load, open } from './store';

const get = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;
const [q, results, status] = [get<HTMLInputElement>('q'), get('results'), get('status')];
const [menu, question] = [get<HTMLDialogElement>('forms'), get<HTMLDialogElement>('confirm')];

let client: Client;
let hits: Hit[] = [];
let at = 0;
const rows = () => [...results.children] as HTMLElement[];
const says = (words: string) => (status.textContent = words);

function row(h: Hit, n: number): HTMLElement {
  const option = document.createElement('div');
  const picture = document.createElement('img');
  const [name, license] = [document.createElement('span'), document.createElement('span')];
  picture.alt = '';
  picture.className = 'picture';
  name.className = 'name';
  name.textContent = `${h.pack}/${h.name}`;
  license.textContent = h.license + (h.commercialUse ? '' : ', non-commercial');
  option.append(picture, name, license);
  option.id = 'option-' + n;
  option.setAttribute('role', 'option');
  option.dataset.icon = `${h.pack}/${h.name}`;
  option.addEventListener('click', () => select(n));
  option.addEventListener('dblclick', () => void use('copy'));
  client.preview(h).then(
    (svg) => (picture.src = dataURI(svg)),
    () => undefined, // a row without a picture is still of use
  );
  return option;
}

function show(found: Hit[]) {
  hits = found;
  results.replaceChildren(...hits.map(row));
  q.setAttribute('aria-expanded', String(hits.length > 0));
  select(0);
}

function select(n: number) {
  at = Math.max(0, Math.min(n, hits.length - 1));
  rows().forEach((option, i) => option.setAttribute('aria-selected', String(i === at)));
  const option = rows()[at];
  if (!option) return q.removeAttribute('aria-activedescendant');
  q.setAttribute('aria-activedescendant', option.id);
  option.scrollIntoView({ block: 'nearest' });
}

/** Asks once a session before a non-commercial icon is used. */
async function confirmed(h: { pack: string; name: string; license: string; commercialUse: boolean }): Promise<boolean> {
  const { agreed } = await chrome.storage.session.get<{ agreed?: boolean }>('agreed');
  if (h.commercialUse || agreed) return true;
  get('question').textContent = `${h.pack}/${h.name} is licensed ${h.license}: non-commercial use only. Use it?`;
  question.returnValue = '';
  question.showModal();
  await new Promise((done) => question.addEventListener('close', done, { once: true }));
  q.focus();
  if (question.returnValue !== 'yes') return false;
  await chrome.storage.session.set({ agreed: true });
  return true;
}

/** Copies or inserts the selected icon. */
async function use(how: 'copy' | 'insert', form?: Form): Promise<void> {
  const h = hits[at];
  if (!h) return void says('Search for an icon first.');
  try {
    const { settings } = client.host;
    const icon = await client.icon(h.pack, h.name);
    if (!(await confirmed({ ...h, ...icon.credit }))) return void says('Nothing was copied or inserted.');
    const text = insert(form ?? settings.insertAs, '', icon, { ...settings, cdn: h.cdn, component });
    const credit = `${h.pack}/${h.name}, ${icon.credit.license}: ${icon.credit.attribution}`;
    if (how === 'copy') await navigator.clipboard.writeText(text);
    else if (!(await insertedIntoTab(text)))
      return void says('No field of the page has the caret; click into one first.');
    says(`${how === 'copy' ? 'Copied' : 'Inserted'} ${credit}`);
  } catch (error) {
    says(error instanceof Fault ? error.message : `${h.pack}/${h.name} can't be used in this form or on this page.`);
  }
}

async function insertedIntoTab(text: string): Promise<boolean> {
  const [tab] = await chrome.tabs.query({ active: true, lastFocusedWindow: true });
  if (tab?.id === undefined) return false;
  const [done] = await chrome.scripting.executeScript({
    target: { tabId: tab.id },
    func: insertIntoPage,
    args: [text],
  });
  return done?.result === true;
}

function askForm() {
  if (!hits[at]) return;
  menu.replaceChildren(
    ...forms.map((form) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = form;
      button.addEventListener('click', () => {
        menu.close();
        q.focus();
        void use('copy', form);
      });
      return button;
    }),
  );
  menu.showModal();
}

const keys: { [key: string]: (event: KeyboardEvent) => unknown } = {
  ArrowDown: () => select(at + 1),
  ArrowUp: () => select(at - 1),
  PageDown: () => select(at + 8),
  PageUp: () => select(at - 8),
  Enter: (event) => (event.shiftKey ? askForm() : use(event.ctrlKey || event.metaKey ? 'insert' : 'copy')),
  Escape: () => window.close(),
};

async function start() {
  const [{ complaints }, opened] = await Promise.all([load(), open()]);
  client = opened;
  says(complaints.join(' '));
  const search = new Search(
    () => client,
    (found) => {
      if (found.hits) show(found.hits);
      says(found.says);
    },
  );
  q.addEventListener('input', () => search.type(q.value));
  const { query } = await chrome.storage.session.get<{ query?: string }>('query');
  await chrome.storage.session.remove('query');
  if (query) q.value = query;
  if (q.value) search.type(q.value);
}

q.addEventListener('keydown', (event) => {
  const run = event.isComposing ? undefined : keys[event.key];
  if (!run) return;
  event.preventDefault();
  void run(event);
});
get('copy').addEventListener('click', () => void use('copy'));
get('insert').addEventListener('click', () => void use('insert'));
get('options').addEventListener('click', () => void chrome.runtime.openOptionsPage());
get('yes').addEventListener('click', () => question.close('yes'));
get('no').addEventListener('click', () => question.close('no'));
void start();
