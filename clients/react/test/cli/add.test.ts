import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { version } from '../../package.json';
import { fakeAPI, workshop } from './command';

let shop: Awaited<ReturnType<typeof workshop>>;
beforeEach(async () => void (shop = await workshop()));
afterEach(() => shop.remove());
const edge = () => ['--api', inject('edge'), '--out', 'icons'];
const text = (path: string) => readFile(join(shop.folder, path), 'utf8');

describe('the call', () => {
  test('help and version', async () => {
    expect(await shop.run(['--help'])).toMatchObject({
      status: 0,
      err: '',
      out: expect.stringContaining('add PACK/NAME') as string,
    });
    expect(await shop.run(['--version'])).toEqual({ status: 0, err: '', out: version + '\n' });
  });

  test.each([
    [[], 'no command given'],
    [['frobnicate'], '"frobnicate"'],
    [['toString'], '"toString"'],
    [['add'], 'add needs the name of an icon'],
    [['remove'], 'remove needs the name of an icon'],
    [['types'], 'types needs the key of a pack'],
    [['add', 'mdi/home', '--colour', 'red'], '--colour'],
    [['add', 'mdi/home', '--format', 'png'], 'tsx, jsx or svg'],
    [['add', 'mdi/home', '--stroke', '9'], '0.25 to 4'],
    [['add', 'mdi/home', '--stroke', '1"x'], '0.25 to 4'],
    [['add', 'mdi/home', '--api', 'icons'], 'must begin with http'],
  ])('%j is not understood', async (args, words) => {
    const { status, out, err } = await shop.run(args);
    expect({ status, out }).toEqual({ status: 2, out: '' });
    expect(err).toContain(words);
    expect(err.trim().split('\n')).toHaveLength(1);
  });

  test.each([
    ['{', 'not JSON'],
    ['{"comercial":true}', '"comercial"'],
    ['{"commercial":"yes"}', 'boolean'],
    ['{"out":""}', 'must not be empty'],
  ])('a config file that says %s is not understood', async (config, words) => {
    await writeFile(join(shop.folder, 'iconedge.json'), config);
    const { status, err } = await shop.run(['list']);
    expect(status).toBe(2);
    expect(err).toContain(words);
  });
});

describe('add', () => {
  test('another width of strokes, which update keeps', async () => {
    const icons = ['lucide/home', 'mdi/home'];
    expect(await shop.run(['add', ...icons, '--stroke', '1.5', ...edge()])).toMatchObject({ status: 0, err: '' });
    const house = await text('icons/lucide/home.tsx');
    expect(house).toMatch(/^\/\/ lucide\/home\?stroke=1\.5: /);
    expect(house).toContain('strokeWidth="1.5"');
    expect(await text('icons/mdi/home.tsx')).toMatch(/^\/\/ mdi\/home: /); // it has no strokes
    expect(await text('icons/CREDITS.txt')).toContain('lucide/home\n');
    expect(await shop.run(['update', ...edge()])).toMatchObject({
      status: 0,
      out: expect.stringContaining('same     icons/lucide/home.tsx') as string,
    });
    expect(await shop.run(['diff', ...edge()])).toMatchObject({ status: 0, out: '' });
    await shop.run(['add', 'lucide/home', ...edge()]);
    expect(await text('icons/lucide/home.tsx')).toContain('strokeWidth="2"');
  });

  test('writes components, credits and an index, and the same again', async () => {
    const icons = ['mdi/home', 'lucide/home', 'bi/123', 'paint/gradient'];
    expect(await shop.run(['add', ...icons, '--index', ...edge()])).toMatchObject({ status: 0, err: '' });
    const files = await shop.files();
    expect(files).toEqual([
      'icons/CREDITS.txt',
      'icons/bi/123.tsx',
      'icons/index.ts',
      'icons/lucide/home.tsx',
      'icons/mdi/home.tsx',
      'icons/paint/gradient.tsx',
    ]);
    expect(await text('icons/mdi/home.tsx')).toMatch(
      /^\/\/ mdi\/home: Material Design Icons by Pictogrammers, Apache-2.0, license Apache-2.0/,
    );
    expect(await text('icons/CREDITS.txt')).toContain('Lucide by Lucide Contributors, ISC');
    expect((await text('icons/index.ts')).match(/as \w+/g)).toEqual([
      'as Bi123',
      'as LucideHome',
      'as MdiHome',
      'as PaintGradient',
    ]);
    const before = await Promise.all(files.map(text));
    const again = await shop.run(['add', ...icons, '--index', ...edge()]);
    expect(again).toMatchObject({ status: 0, err: '' });
    expect(again.out.match(/^same /gm)).toHaveLength(4);
    expect(await Promise.all(files.map(text))).toEqual(before);
  });

  test('--dry-run writes nothing', async () => {
    const { status, out } = await shop.run(['add', 'mdi/home', '--dry-run', ...edge()]);
    expect([status, out]).toEqual([0, 'would add      icons/mdi/home.tsx\n']);
    expect(await shop.files()).toEqual([]);
  });

  test('files that were changed by hand are kept unless --force is given', async () => {
    await shop.run(['add', 'mdi/home', ...edge()]);
    const path = join(shop.folder, 'icons/mdi/home.tsx');
    const written = await readFile(path, 'utf8');
    await writeFile(path, written + '// mine\n');
    expect(await shop.run(['add', 'mdi/home', ...edge()])).toMatchObject({
      status: 0,
      out: expect.stringMatching(/^kept .*changed by hand/) as string,
    });
    expect(await readFile(path, 'utf8')).toBe(written + '// mine\n');
    await shop.run(['add', 'mdi/home', '--force', ...edge()]);
    expect(await readFile(path, 'utf8')).toBe(written);
  });

  test('a file that the command did not write is kept', async () => {
    await shop.run(['add', 'mdi/home', ...edge()]);
    for (const path of ['icons/CREDITS.txt', 'icons/lucide/home.tsx', 'icons/index.ts']) {
      await shop.copyIn(import.meta.filename, path);
    }
    await shop.run(['add', 'lucide/home', '--index', ...edge()]);
    const mine = await readFile(import.meta.filename, 'utf8');
    for (const path of ['icons/CREDITS.txt', 'icons/lucide/home.tsx', 'icons/index.ts'])
      expect(await text(path)).toBe(mine);
  });

  test('as JSX and as SVG', async () => {
    await shop.run(['add', 'paint/gradient', '--format', 'jsx', ...edge()]);
    await shop.run(['add', 'paint/gradient', '--format', 'svg', ...edge()]);
    expect(await text('icons/paint/gradient.jsx')).toContain('function PaintGradient(props) {');
    expect(await text('icons/paint/gradient.svg')).toContain('<svg xmlns="http://www.w3.org/2000/svg" width="20"');
  });

  test('one that is unknown is named, and the others are there', async () => {
    const { status, err } = await shop.run(['add', 'mdi/nope', 'mdi/home', ...edge()]);
    expect([status, err]).toEqual([1, 'iconedge-react: mdi/nope: the API has no icon mdi/nope\n']);
    expect(await shop.files()).toEqual(['icons/CREDITS.txt', 'icons/mdi/home.tsx']);
  });

  test.each([
    '../../x',
    'mdi/../../x',
    'mdi%2f..%2fx',
    '/etc/passwd',
    'mdi',
    'mdi/',
    '/home',
    'mdi/home/x',
    'Mdi/home',
    'mdi/ho me',
    'mdi/home\n',
    '..',
    'a\\b/c',
  ])('%j is no icon, and nothing is written', async (name) => {
    const { status, out, err } = await shop.run(['add', name, ...edge()]);
    expect([status, out]).toEqual([1, '']);
    expect(err).toContain('is not pack/name');
    expect(await shop.files()).toEqual([]);
  });

  test('the config file is taken, the options win over it, the environment is between', async () => {
    await writeFile(
      join(shop.folder, 'iconedge.json'),
      JSON.stringify({ api: 'http://127.0.0.1:1', out: 'drawn', format: 'svg', commercial: true }),
    );
    await shop.run(['add', 'mdi/home'], { ICONEDGE_API: inject('edge') });
    expect(await shop.files('drawn')).toEqual(['drawn/CREDITS.txt', 'drawn/mdi/home.svg']);
    const { status, err } = await shop.run(['add', 'nc/disc', '--api', inject('edge')]);
    expect(status).toBe(1);
    expect(err).toMatch(/CC-BY-NC-4\.0.*not for commercial use/);
    expect(await shop.files('drawn/nc')).toEqual([]);
  });
});

test('hostile and broken answers: refused in words, and no file', async () => {
  const svg = (inside: string) => ({
    svg: `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1">${inside}</svg>`,
  });
  const api = await fakeAPI({
    'x/script': svg('<script>x</script>'), 'x/event': svg('<path onclick="x"/>'), 'x/link': svg('<use href="javascript:x"/>'),
    'x/five': 500, 'x/html': '<!doctype html><p>', 'x/half': '{"svg": "<svg', 'x/cut': svg('<g>'),
  }); // prettier-ignore
  const names = ['script', 'event', 'link', 'five', 'html', 'half', 'cut', 'none'].map((name) => `x/${name}`);
  const { status, out, err } = await shop.run(['add', ...names, '--api', api.address, '--out', 'icons']);
  expect([status, out]).toEqual([1, '']);
  expect(
    err
      .trim()
      .split('\n')
      .map((line) => line.split(': ')[1]),
  ).toEqual(names);
  expect(err).not.toMatch(/ {4}at |Error:/);
  expect(await shop.files()).toEqual([]);
  api.close();
  const away = await shop.run(['add', 'x/script', '--api', api.address]);
  expect(away.status).toBe(1);
  expect(away.err).toMatch(/no response from .*ECONNREFUSED/);
});

test('a foreign credit stays in its comment, and text is text', async () => {
  const evil = '*/ alert(1) /* \n alert(2) \u2028 alert(3) ` ${alert(4)} {alert(5)}';
  const api = await fakeAPI({
    'x/y': {
      license: evil,
      attribution: evil,
      svg: '<svg viewBox="0 0 1 1"><text>{alert(6)} `${alert(7)}` &lt;/text></text></svg>',
    },
  });
  await shop.run(['add', 'x/y', '--api', api.address, '--out', 'icons']);
  const lines = (await text('icons/x/y.tsx')).split('\n');
  expect(lines[2]).toBe('import type { SVGProps } from "react";');
  expect(lines.filter((line) => line.includes('alert'))).toEqual([
    expect.stringMatching(/^\/\/ x\/y: /),
    '      <text>{"{alert(6)} `${alert(7)}` </text>"}</text>',
  ]);
  api.close();
});

test('the token is sent, when there is one', async () => {
  const api = await fakeAPI({ 'x/y': {} });
  await shop.run(['add', 'x/y', '--api', api.address + '/', '--dry-run']);
  await shop.run(['add', 'x/y', '--api', api.address, '--dry-run'], { ICONEDGE_LICENSE_TOKEN: 'iel_t' });
  expect(api.asked.map(({ path, headers }) => [path, headers.authorization])).toEqual([
    ['/api/v1/icon/x/y', undefined],
    ['/api/v1/icon/x/y', 'Bearer iel_t'],
  ]);
  api.close();
});
