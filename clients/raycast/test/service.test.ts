import { beforeEach, expect, test, vi } from 'vitest';

const raycast = vi.hoisted(() => ({ preferences: {} as object, stored: new Map<string, string>() }));
vi.mock('@raycast/api', () => ({
  Cache: class {
    #all = new Map<string, string>();
    get = (key: string) => this.#all.get(key);
    set = (key: string, value: string) => this.#all.set(key, value);
  },
  getPreferenceValues: () => raycast.preferences,
  LocalStorage: {
    getItem: async (key: string) => raycast.stored.get(key),
    setItem: async (key: string, value: string) => void raycast.stored.set(key, value),
  },
}));
const { memory, open } = await import('../src/service');

const preferences = {
  baseUrl: 'http://127.0.0.1:8080',
  insertAs: 'svg',
  size: '24',
  packs: 'mdi, lucide',
  credit: true,
};
beforeEach(() => {
  raycast.preferences = preferences;
  raycast.stored.clear();
});

test('preferences are settings; wrong ones are named', async () => {
  const { client, complaints } = await open();
  expect(client.host.settings).toMatchObject({ insertAs: 'svg', size: 24, packs: ['mdi', 'lucide'] });
  expect(client.host.agent).toMatch(/^iconedge-raycast\/\d+\.\d+\.\d+$/);
  expect(complaints).toEqual([]);
  raycast.preferences = { ...preferences, size: 'big', color: 'red' };
  expect((await open()).complaints.map((c) => c.split(' ')[0])).toEqual(['color', 'size']);
});

test('the token goes to the origin that it was entered for', async () => {
  raycast.preferences = { ...preferences, token: 'iel_secret' };
  expect((await open()).client.host.token).toBe('iel_secret');
  expect(JSON.stringify([...raycast.stored])).not.toContain('iel_secret');
  raycast.preferences = { ...preferences, token: 'iel_secret', baseUrl: 'https://other.example' };
  const moved = await open();
  expect(moved.client.host.token).toBeUndefined();
  expect(moved.complaints).toEqual([expect.stringContaining('enter the licence token anew')]);
  raycast.preferences = { ...preferences, token: 'iel_another', baseUrl: 'https://other.example' };
  expect((await open()).client.host.token).toBe('iel_another');
});

test('searches and waits are remembered for the next start of the command', async () => {
  await memory.set('key', { text: 'x', at: 1 });
  expect(await memory.get('key')).toEqual({ text: 'x', at: 1 });
  expect(await memory.get('other')).toBeUndefined();
});
