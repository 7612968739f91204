import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Client, find, readSettings } from '..';
import { Library } from '../library';
import { secretFor, tokenFor } from '../secret';

const svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M0 0"/></svg>';
const metadata = { url: 'https://cdn.example/mdi/home.svg', alias_of: 'house', commercial_use: true };
const pack = {
  pack: 'mdi',
  samples: ['account', 'home', '../x'],
  license: 'MIT',
  attribution: 'A',
  commercial_use: true,
};

/** A library whose service has the icon mdi/home alone, and the addresses of its requests. */
function library(more: (url: string) => Response | undefined = () => undefined) {
  const requests: string[] = [];
  const fetch = (async (url: string) => {
    requests.push(url.replace('https://icons.example', ''));
    const other = more(url);
    if (other) return other;
    if (url.endsWith('/packs')) return Response.json({ packs: [pack] });
    if (url.endsWith('/mdi/home.svg')) return new Response(svg);
    if (url.endsWith('/icon/mdi/home')) return Response.json({ svg, license: 'MIT', metadata });
    return Response.json({ suggestions: ['home'] }, { status: 404 });
  }) as typeof globalThis.fetch;
  const { settings } = readSettings({ baseUrl: 'https://icons.example' });
  return { library: new Library(new Client({ settings, fetch })), requests };
}
const reference = (text: string) => find(text, (key) => key === 'mdi')[0]!;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('a text without references makes no request, another one asks for the packs once', async () => {
  const { library: l, requests } = library();
  expect(await l.references('no icon here')).toEqual([]);
  expect(requests).toEqual([]);
  expect((await l.references('mdi:home node:fs')).map((r) => r.name)).toEqual(['home']);
  await l.references('mdi:home');
  expect(requests).toEqual(['/api/v1/packs']);
});

test('a check asks the CDN, and the API for what the CDN lacks, once a minute for each name', async () => {
  const { library: l, requests } = library();
  expect(await l.check(reference('mdi:home'))).toEqual({ svg });
  expect(requests).toEqual(['/mdi/home.svg']);
  for (let n = 0; n < 3; n++) {
    const { fault } = await l.check(reference('mdi:hme'));
    expect(fault).toMatchObject({ status: 404, close: ['home'] });
  }
  expect(requests.slice(1)).toEqual(['/mdi/hme.svg', '/api/v1/icon/mdi/hme']);
});

test('checks leave the limit of the API to the user', async () => {
  const { library: l, requests } = library();
  for (let n = 0; n < 45; n++) await l.check(reference(`mdi:x${n}`));
  expect(requests.filter((url) => url.includes('/icon/'))).toHaveLength(40);
  expect(await l.check(reference('mdi:y'))).toEqual({ wait: true });
  vi.advanceTimersByTime(60_001);
  expect((await l.check(reference('mdi:z'))).fault!.status).toBe(404);
});

test('an icon names the CDN and what it is an alias of', async () => {
  const { library: l } = library();
  expect(await l.resolve(reference('mdi:home'))).toMatchObject({ cdn: 'https://cdn.example', alias: 'house' });
  expect(l.cdn).toBe('https://cdn.example');
});

test('completion shows samples, then the hits of one search; after a fault they stay', async () => {
  let limited = false;
  const hit = { ...pack, name: 'home', url: 'https://cdn.example/mdi/home.svg' };
  const { library: l, requests } = library((url) => {
    if (!url.includes('/search')) return;
    return limited
      ? new Response('', { status: 429, headers: { 'Retry-After': '9' } })
      : Response.json({ results: [hit] });
  });
  await l.packs();
  const faults: string[] = [];
  const names = async (typed: string) => {
    const hits = l.complete(
      'mdi',
      typed,
      () => false,
      (f) => faults.push(f.message),
    );
    await vi.advanceTimersByTimeAsync(300);
    return (await hits).map((h) => h.name);
  };
  expect(await names('h')).toEqual(['home', 'account']);
  expect(requests).toEqual(['/api/v1/packs']);
  expect(await names('dwelling')).toEqual(['home']);
  limited = true;
  expect(await names('dwellings')).toEqual(['home']);
  expect(faults).toEqual(["The icon service's rate limit is reached; retry in 9 seconds."]);
  expect(requests.filter((url) => url.includes('/search'))).toHaveLength(2);
});

test('a token is for the origin for which it was entered', () => {
  const secret = secretFor('iel_x', 'https://icons.example/a');
  expect(tokenFor(secret, 'https://icons.example/b')).toBe('iel_x');
  expect(tokenFor(secret, 'https://icons.example.org')).toBeUndefined();
  expect(tokenFor(undefined, 'https://icons.example')).toBeUndefined();
});
