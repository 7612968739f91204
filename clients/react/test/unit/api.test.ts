import { expect, test } from 'vitest';
import { Api, type World } from '../../src/cli/api';
import { Refusal } from '../../src/cli/refusal';

const icon = {
  pack: 'mdi', name: 'home', svg: '<svg/>', license: 'MIT',
  metadata: { license: { url: 'https://example.org/' }, attribution: 'A\nB', commercial_use: true },
}; // prettier-ignore

/** An API with these responses, one after the other. */
function answering(...answers: (Response | Error)[]) {
  const asked: Request[] = [];
  const slept: number[] = [];
  const said: string[] = [];
  const world: World = {
    fetch: async (address, options) => {
      asked.push(new Request(address as string, options));
      const answer = answers.shift()!;
      if (answer instanceof Error) throw answer;
      return answer;
    },
    sleep: async (milliseconds) => slept.push(milliseconds),
    say: (words) => said.push(words),
  };
  return { world, asked, slept, said };
}

const ref = { pack: 'mdi', name: 'home' };
const limited = (after?: string) => new Response('', { status: 429, headers: after ? { 'Retry-After': after } : {} });

test('asks with the token, below any path, and takes what it needs', async () => {
  const { world, asked } = answering(Response.json(icon));
  const got = await new Api('https://icons.example.org/sub//', 'iel_x', world).icon(ref);
  expect(got).toEqual({
    ...ref,
    svg: '<svg/>',
    license: 'MIT',
    licenseUrl: 'https://example.org/',
    attribution: 'A B',
    commercial: true,
  });
  expect(asked[0]!.url).toBe('https://icons.example.org/sub/api/v1/icon/mdi/home');
  expect(asked[0]!.headers.get('Authorization')).toBe('Bearer iel_x');
});

test('no token, no header', async () => {
  const { world, asked } = answering(Response.json(icon));
  await new Api('http://127.0.0.1:1', undefined, world).icon(ref);
  expect(asked[0]!.headers.has('Authorization')).toBe(false);
});

test('waits as long as Retry-After says', async () => {
  const { world, slept, said } = answering(limited('2'), limited(), Response.json(icon));
  await new Api('http://127.0.0.1:1', '', world).icon(ref);
  expect(slept).toEqual([2000, 5000]);
  expect(said).toEqual(['rate limit: waiting 2 s', 'rate limit: waiting 5 s']);
});

test.each([
  ['a wait that is too long', [limited('3600')], /rate limit/],
  ['a wait that is none', [limited('soon')], /rate limit/],
  ['a limit that never ends', Array.from({ length: 6 }, () => limited('1')), /rate limit/],
  ['an unknown icon', [new Response('', { status: 404 })], /no icon mdi\/home/],
  ['a withdrawn icon', [new Response('', { status: 410 })], /withdrawn/],
  ['a call without a valid token', [new Response('', { status: 401 })], /ICONEDGE_LICENSE_TOKEN/],
  ['an error of its own', [new Response('<h1>', { status: 500 })], /status 500/],
  ['HTML', [new Response('<!doctype html>')], /not JSON/],
  ['half a JSON', [new Response('{"svg":')], /not JSON/],
  ['null', [Response.json(null)], /not an icon/],
  ['a list', [Response.json([])], /not an icon/],
  ['no SVG', [Response.json({ ...icon, svg: 1 })], /not an icon/],
  ['no attribution', [Response.json({ ...icon, metadata: {} })], /not an icon/],
  ['no connection', [new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } })], /no response .*ECONNREFUSED/],
  ['a timeout', [new DOMException('', 'TimeoutError')], /no response .*TimeoutError/],
])('refuses %s', async (_, answers, words) => {
  const asking = new Api('http://127.0.0.1:1', '', answering(...answers).world).icon(ref);
  await expect(asking).rejects.toThrow(Refusal);
  await expect(asking).rejects.toThrow(words);
});

test('one that lets a call wait in vain is not waited for again', async () => {
  const { world, asked } = answering(new DOMException('', 'TimeoutError'), Response.json(icon));
  const api = new Api('http://127.0.0.1:1', '', world);
  await expect(api.icon(ref)).rejects.toThrow(/TimeoutError/);
  await expect(api.icon(ref)).rejects.toThrow(/TimeoutError/);
  expect(asked).toHaveLength(1);
});

test('one that refused a call is asked again', async () => {
  const { world } = answering(new TypeError('fetch failed', { cause: { code: 'ECONNRESET' } }), Response.json(icon));
  const api = new Api('http://127.0.0.1:1', '', world);
  await expect(api.icon(ref)).rejects.toThrow(/ECONNRESET/);
  expect(await api.icon(ref)).toMatchObject(ref);
});

test.each(['icons.example.org', 'ftp://x', 'file:///etc', ''])('%j is not an address', (base) => {
  expect(() => new Api(base, '', answering().world)).toThrow(Refusal);
});

test('names of a pack, from all its pages: nothing that is no name', async () => {
  const { world, asked } = answering(
    Response.json({ icons: [{ name: 'b' }, { name: '"; x' }], aliases: { c: 'b', '*/': 'b' }, pages: 2 }),
    Response.json({ icons: [{ name: 'a' }, null], aliases: null, pages: 2 }),
  );
  expect(await new Api('http://127.0.0.1:1', '', world).names('mdi')).toEqual(['a', 'b', 'c']);
  expect(asked.map(({ url }) => url.replace(/.*page=/, ''))).toEqual(['1', '2']);
});
