import { insert, type Client, type Hit } from '../core';
import { picture } from '../core/picture';
import { component } from '../core/react';
import { get, Picker, type Use } from '../picker/picker';
import { insertIntoPage } from './page';
import { load, open } from './store';

let client: Client;

const picker = new Picker({
  client: () => client,
  use,
  agreed: async () => !!(await chrome.storage.session.get<{ agreed?: boolean }>('agreed')).agreed,
  agree: () => chrome.storage.session.set({ agreed: true }),
  close: () => window.close(),
});

/** Copies, inserts or saves an icon. A field of a page takes no picture, but its address. */
async function use(h: Hit, use: Use): Promise<string> {
  const { settings } = client.host;
  const icon = await client.icon(h.pack, h.name);
  if (!(await picker.confirmed({ ...h, ...icon.credit }))) return 'Nothing was copied or inserted.';
  const form = use.how === 'form' ? use.form : settings.insertAs;
  const credit = `${h.pack}/${h.name}, ${icon.credit.license}: ${icon.credit.attribution}`;
  if (use.how === 'save') {
    save(await picture(client, icon, h.cdn), `${h.pack}-${h.name}.png`);
    return 'Saved ' + credit;
  }
  if (form === 'png' && use.how !== 'other') {
    await navigator.clipboard.write([new ClipboardItem({ 'image/png': await picture(client, icon, h.cdn) })]);
    return 'Copied the PNG of ' + credit;
  }
  const text = insert(form, '', icon, { ...settings, cdn: h.cdn, component });
  if (use.how !== 'other') {
    await navigator.clipboard.writeText(text);
    return 'Copied ' + credit;
  }
  if (await insertedIntoTab(text)) return 'Inserted ' + credit;
  return 'No field of the page has the caret; click into one first.';
}

function save(file: Blob, name: string) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(file); // the popup is closed soon, and the URL with it
  link.download = name;
  link.click();
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

async function start() {
  const [{ complaints }, opened] = await Promise.all([load(), open()]);
  client = opened;
  picker.says(complaints.join(' '));
  const { query } = await chrome.storage.session.get<{ query?: string }>('query');
  await chrome.storage.session.remove('query');
  picker.search(query);
}

get('copy').addEventListener('click', () => void picker.use({ how: 'enter' }));
get('insert').addEventListener('click', () => void picker.use({ how: 'other' }));
get('save').addEventListener('click', () => void picker.use({ how: 'save' }));
get('options').addEventListener('click', () => void chrome.runtime.openOptionsPage());
void start();
