// The preferences as settings of the core, and the token for the address that it was entered for.
import { createHash } from 'node:crypto';
import { Cache, getPreferenceValues, LocalStorage } from '@raycast/api';
import { Client, readSettings } from '../../core';
import { remembering, type Memory, type Remembered } from '../../core/memory';
import { tokenFor, type Secret } from '../../core/secret';

const version = '0.0.0'; // the build sets it

const cache = new Cache({ capacity: 4 << 20 });

/** The memory between two starts of the command. */
export const memory: Memory = {
  get: async (key) => {
    const text = cache.get(key);
    return text ? (JSON.parse(text) as Remembered) : undefined;
  },
  set: async (key, value) => cache.set(key, JSON.stringify(value)),
};

/** Reads the preferences; complaints are sentences about wrong ones. */
export async function open(): Promise<{ client: Client; complaints: string[] }> {
  const { token, size, packs, ...rest } = getPreferenceValues<{ [name: string]: string }>();
  const lists = { size: size ? Number(size) : '', packs: (packs ?? '').split(/[\s,]+/).filter(Boolean) };
  const { settings, complaints } = readSettings({ ...rest, ...lists });
  const known = token ? await tokenAt(token, settings.baseUrl) : undefined;
  if (token && !known) complaints.push('The address has changed; enter the licence token anew.');
  const agent = 'iconedge-raycast/' + version;
  return { client: new Client({ settings, token: known, agent, fetch: remembering(memory, fetch) }), complaints };
}

/** Returns the token, unless it was first used with another origin. Raycast stores the token; here is only its hash. */
async function tokenAt(token: string, baseUrl: string): Promise<string | undefined> {
  const hash = createHash('sha256').update(token).digest('hex');
  const text = await LocalStorage.getItem<string>('secret');
  const stored = text ? (JSON.parse(text) as Secret) : undefined;
  if (stored?.token === hash) return tokenFor(stored, baseUrl) && token;
  const secret: Secret = { token: hash, origin: new URL(baseUrl).origin };
  await LocalStorage.setItem('secret', JSON.stringify(secret));
  return token;
}
