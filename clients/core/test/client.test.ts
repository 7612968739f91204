import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { checkSVG, Client, dataURI, defaults, Fault, readSettings, Search, type Hit } from '..';
import { creditOf, creditRequired } from '../credit';
import { picture } from '../picture';
import { remembering, type Memory, type Remembered } from '../memory';

const svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M0 0"/></svg>';
const metadata = { width: 24, height: 24, monochrome: true, recolored: false, commercial_use: true, attribution: 'A' };
const icon = { pack: 'mdi', name: 'home', svg, license: 'MIT', metadata };
const result = {
  pack: 'mdi',
  name: 'home',
  url: 'https://cdn.example/x/mdi/home.svg',
  license: 'MIT',
  attribution: 'A',
  commercial_use: true,
};
const settings = readSettings({ baseUrl: 'https://icons.example/' }).settings;

/** A client of a service that answers each request as the function says, and the requests. */
function service(answer: (url: string) => Response | Promise<Response>, more = {}) {
  const requests: [string, RequestInit][] = [];
  const fetch = (async (url: string, init: RequestInit) => {
    requests.push([url, init]);
    return answer(url);
  }) as typeof globalThis.fetch;
  return { client: new Client({ settings, fetch, ...more }), requests };
}
const json = (body: unknown, init: ResponseInit = {}) => new Response(JSON.stringify(body), init);

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('requests have the form of the contract, and are made once', async () => {
  const { client, requests } = service(
    () => json({ results: [result, { ...result, name: '../x' }, { ...result, url: 'javascript:1' }, null] }),
    { token: 'iel_x', agent: 'iconedge-test/1', settings: { ...settings, packs: ['mdi'], commercialOnly: true } },
  );
  const [hits] = await Promise.all([client.search(' a&limit=1 '), client.search('a&limit=1')]);
  expect(hits).toEqual([
    expect.objectContaining({ pack: 'mdi', name: 'home', cdn: 'https://cdn.example/x' } satisfies Partial<Hit>),
  ]);
  expect(requests).toHaveLength(1);
  expect(requests[0]![0]).toBe('https://icons.example/api/v1/search?q=a%26limit%3D1&limit=50&pack=mdi&commercial=true');
  expect(requests[0]![1].headers).toEqual({ Authorization: 'Bearer iel_x', 'User-Agent': 'iconedge-test/1' });
});

test('an icon in a colour, a size and with a prefix of ids', async () => {
  const { client, requests } = service(() => json(icon));
  await client.icon('mdi', 'home', { color: '#ff0000', size: 24, id: 'c2_' });
  expect(requests[0]![0]).toBe('https://icons.example/api/v1/icon/mdi/home?color=%23ff0000&size=24&id=c2_');
});

test('a memory keeps searches for five minutes, and waits, for the next client', async () => {
  const stored = new Map<string, Remembered>();
  const memory: Memory = {
    get: async (key) => stored.get(key),
    set: async (key, value) => void stored.set(key, value),
  };
  let requests = 0;
  let answer = () => json({ results: [result] });
  const count = (async () => (requests++, answer())) as unknown as typeof fetch;
  const client = () => new Client({ settings, fetch: remembering(memory, count) });
  await client().search('home');
  expect(await client().search('home')).toHaveLength(1);
  expect(requests).toBe(1);
  vi.advanceTimersByTime(300_000);
  await client().search('home');
  expect(requests).toBe(2);
  answer = () => new Response('<!doctype html>');
  await expect(client().search('page')).rejects.toThrow('invalid response');
  await expect(client().search('page')).rejects.toThrow('invalid response'); // no failure is remembered
  expect(requests).toBe(4);

  answer = () => json({}, { status: 429, headers: { 'Retry-After': '7' } });
  await expect(client().search('trash')).rejects.toThrow('retry in 7 seconds');
  answer = () => json({ results: [result] });
  await expect(client().search('bin')).rejects.toThrow('retry in 7 seconds');
  expect(await client().search('home')).toHaveLength(1);
  expect(requests).toBe(5);
  vi.advanceTimersByTime(7000);
  expect(await client().search('bin')).toHaveLength(1);
});

test('the CDN gets no token', async () => {
  const { client, requests } = service(() => new Response(svg), { token: 'iel_x' });
  await client.preview({ pack: 'mdi', name: 'home', cdn: 'https://cdn.example' });
  expect(requests[0]![0]).toBe('https://cdn.example/mdi/home.svg');
  expect(requests[0]![1].headers).toEqual({});
});

test('after a 429 the class waits, and says the seconds; other classes do not', async () => {
  const { client, requests } = service((url) =>
    url.includes('/search') ? json({}, { status: 429, headers: { 'Retry-After': '7' } }) : json(icon),
  );
  await expect(client.search('home')).rejects.toThrow('retry in 7 seconds');
  await vi.advanceTimersByTimeAsync(6500);
  await expect(client.search('home')).rejects.toThrow('retry in 1 second.');
  expect((await client.icon('mdi', 'home')).credit.license).toBe('MIT');
  expect(requests).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(500);
  await expect(client.search('home')).rejects.toThrow('retry in 7 seconds');
  expect(requests).toHaveLength(3);
});

test('a picture comes from the CDN, in the colour and size of the settings', async () => {
  const { client, requests } = service((url) =>
    url.includes('none')
      ? new Response('', { status: 422 })
      : url.includes('busy')
        ? new Response('', { status: 429, headers: { 'Retry-After': '9' } })
        : new Response(url),
  );
  client.host.settings = { ...settings, color: '#ff0000', size: 4096 };
  const icon = {
    pack: 'mdi',
    name: 'home',
    svg,
    credit: creditOf('MIT', 'A', true),
    monochrome: true,
    recolored: true,
    width: 1,
    height: 1,
  };
  const cdn = 'https://cdn.example';
  const url = cdn + '/mdi/home.png?color=%23ff0000&size=1024';
  expect(await (await picture(client, icon, cdn)).text()).toBe(url);
  await expect(picture(client, { ...icon, name: 'none' }, cdn)).rejects.toThrow("mdi/none can't be drawn");
  await expect(picture(client, { ...icon, name: 'busy' }, cdn)).rejects.toThrow('retry in 9 seconds');
  expect(requests).toHaveLength(3);
});

test.each([
  ['a 500', () => new Response('x', { status: 500 }), 'failed with status 500'],
  ['half a JSON', () => new Response('{"results":[{'), 'invalid response'],
  ['HTML', () => new Response('<!doctype html><p>'), 'invalid response'],
  ['a bare list', () => json([]), 'invalid response'],
  ['no network', () => Promise.reject(new TypeError()), 'change the setting baseUrl'],
  ['a withdrawn icon', () => json({}, { status: 410 }), 'withdrawn'],
  ['close names', () => json({ suggestions: ['home-2', '../x'] }, { status: 404 }), 'Close names: home-2.'],
])('%s is a sentence, and is not cached', async (_, answer, says) => {
  let broken = true;
  const { client } = service(() => (broken ? answer() : json(icon)));
  const fault = (await client.icon('mdi', 'home').catch((e: unknown) => e)) as Fault;
  expect(fault).toBeInstanceOf(Fault);
  expect(fault.message).toContain(says);
  broken = false;
  expect((await client.icon('mdi', 'home')).svg).toBe(svg);
});

test('no response within ten seconds', async () => {
  const fetch = ((_: string, init: RequestInit) =>
    new Promise((_, no) => init.signal!.addEventListener('abort', () => no(new Error())))) as typeof globalThis.fetch;
  const failed = expect(new Client({ settings, fetch }).packs()).rejects.toThrow('did not answer in time');
  await vi.advanceTimersByTimeAsync(10_000);
  await failed;
});

test('the default address without a service names the setting', async () => {
  const { client } = service(() => Promise.reject(new TypeError()), { settings: defaults });
  await expect(client.search('home')).rejects.toThrow('change the setting baseUrl');
});

test('names outside of the alphabet and unsafe SVGs are refused', async () => {
  const { client, requests } = service(() =>
    json({ ...icon, svg: '<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>' }),
  );
  for (const name of ['..', 'a/b', '%2e', 'home?x', '', 'Home', 'a'.repeat(129)])
    await expect(client.icon('mdi', name)).rejects.toThrow(Fault);
  expect(requests).toEqual([]);
  await expect(client.icon('mdi', 'home')).rejects.toThrow('not safe');
  for (const bad of [
    '<svg onload="x"/>',
    '<svg><a href="javascript:1"/></svg>',
    '<svg><style>@import "x"</style></svg>',
    '<html/>',
    '',
  ])
    expect(() => checkSVG(bad), bad).toThrow();
});

test('the cache stays below 4 MB', async () => {
  const { client, requests } = service((url) => json({ results: [], url, pad: 'x'.repeat(400_000) }));
  for (let i = 0; i < 20; i++) await client.search('q' + i);
  await client.search('q19');
  expect(requests).toHaveLength(20);
  await client.search('q0');
  expect(requests).toHaveLength(21);
});

test('a search field drops late responses and keeps the last hits after a fault', async () => {
  const wait: { [q: string]: number } = { slow: 1000, fast: 10, bad: 10 };
  const { client, requests } = service(async (url) => {
    const q = new URL(url).searchParams.get('q')!;
    await new Promise((done) => setTimeout(done, wait[q]));
    return q === 'bad'
      ? new Response('', { status: 503 })
      : json({ results: [{ ...result, name: q, url: `https://cdn.example/mdi/${q}.svg` }] });
  });
  const shown: string[] = [];
  const search = new Search(
    () => client,
    ({ hits, says }) => shown.push(hits?.[0]?.name ?? says),
  );
  for (const [text, ms] of [
    ['s', 60],
    ['slow', 300],
    ['fast', 2000],
    ['bad', 400],
    ['fast', 20],
    ['bad', 400],
  ] as const) {
    search.type(text);
    await vi.advanceTimersByTimeAsync(ms);
  }
  const failed = 'The icon service failed with status 503; try again later.';
  expect(shown).toEqual(['fast', failed, 'fast', failed]);
  expect(requests).toHaveLength(4);
  search.stop();
});

test('settings are checked; complaints repeat no value', () => {
  const wrong = {
    baseUrl: 'file:///x',
    insertAs: 'gif',
    color: 'red',
    size: 5000,
    packs: ['../x'],
    commercialOnly: 'yes',
    credit: 1,
  };
  const { settings: read, complaints } = readSettings(wrong);
  expect(read).toEqual(defaults);
  expect(complaints).toHaveLength(7);
  expect(complaints.join()).not.toMatch(/gif|red,|5000|file/);
  expect(readSettings({ color: 'F00', size: 24, baseUrl: 'https://x.example/a/' }).settings).toMatchObject({
    color: '#ff0000',
    size: 24,
    baseUrl: 'https://x.example/a',
  });
  expect(readSettings({ color: '#12345' }).complaints).toHaveLength(1);
});

test('which licences require a credit', () => {
  const required = (spdx: string) => creditRequired(creditOf(spdx, '', true));
  for (const spdx of [
    'MIT',
    'apache-2.0',
    'CC0-1.0',
    'GPL-3.0-or-later WITH Font-exception-2.0',
    'CC-BY-4.0 OR MIT',
    'MIT AND ISC',
    'GPL-2.0+',
  ])
    expect(required(spdx), spdx).toBe(false);
  for (const spdx of ['CC-BY-4.0', 'CC-BY-SA-3.0', 'MIT AND CC-BY-4.0', 'LicenseRef-x', ''])
    expect(required(spdx), spdx).toBe(true);
  expect(creditOf('CC-BY-NC-4.0', '', true).commercialUse).toBe(false);
  expect(creditOf('CC-BY-NC-4.0 OR MIT', '', true).commercialUse).toBe(true);
});

test('data URIs keep characters of every script', () => {
  expect(Buffer.from(dataURI('<svg>é家😀</svg>').split(',')[1]!, 'base64').toString()).toBe('<svg>é家😀</svg>');
});
