// The settings and the token in the browser's storage, which pages can't read.
import { Client, readSettings, type Settings } from '../core';
import { remembered, remembering, type Memory, type Remembered } from '../core/memory';
import { secretFor, tokenFor, type Secret } from '../core/secret';

/** Reads the settings. Complaints are sentences about wrong ones. */
export async function load(): Promise<{ settings: Settings; complaints: string[] }> {
  const { settings } = await chrome.storage.local.get<{ settings?: { [name: string]: unknown } }>('settings');
  return readSettings(settings ?? {});
}

/** Stores settings, and a new token if it is not empty. A change to another origin deletes the token. */
export async function save(settings: Settings, token: string): Promise<void> {
  const { secret } = await chrome.storage.local.get<{ secret?: Secret }>('secret');
  if (secret && !tokenFor(secret, settings.baseUrl)) await forget();
  if (token) await chrome.storage.local.set({ secret: secretFor(token, settings.baseUrl) });
  await chrome.storage.local.set({ settings });
}

/** Deletes the token. */
export const forget = (): Promise<void> => chrome.storage.local.remove('secret');

/** Returns a client with the stored settings. The token goes to the origin for which it was entered, and no other. */
export async function open(): Promise<Client> {
  const { settings } = await load();
  const { secret } = await chrome.storage.local.get<{ secret?: Secret }>('secret');
  return new Client({
    settings,
    token: tokenFor(secret, settings.baseUrl),
    fetch: remembering(memory, (input, init) => fetch(input, init)),
  });
}

const most = 60; // searches and waits; some 1 MB

/** The memory of the browser's session, because each popup starts anew. */
const memory: Memory = {
  get: async (key) =>
    (await chrome.storage.session.get<{ memory?: { [key: string]: Remembered } }>('memory')).memory?.[key],
  set: async (key, value) => {
    const { memory: old } = await chrome.storage.session.get<{ memory?: { [key: string]: Remembered } }>('memory');
    const entries = Object.entries(old ?? {}).filter(([k, { at }]) => k !== key && at + remembered > Date.now());
    await chrome.storage.session.set({ memory: Object.fromEntries([...entries.slice(1 - most), [key, value]]) });
  },
};
