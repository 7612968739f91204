import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { fakeAPI, workshop } from './command';

let shop: Awaited<ReturnType<typeof workshop>>;
beforeEach(async () => void (shop = await workshop()));
afterEach(() => shop.remove());
const text = (path: string) => readFile(join(shop.folder, path), 'utf8');

test('update and diff: old files are renewed, files changed by hand are kept', async () => {
  const icons: Parameters<typeof fakeAPI>[0] = { 'x/old': {}, 'x/mine': {}, 'x/same': {}, 'x/gone': {} };
  const api = await fakeAPI(icons);
  const call = (...args: string[]) => shop.run([...args, '--api', api.address, '--out', 'icons']);
  await call('add', ...Object.keys(icons));
  expect(await call('diff')).toEqual({ status: 0, out: '', err: '' });
  await appendFile(join(shop.folder, 'icons/x/mine.tsx'), '// mine\n');
  icons['x/old'] = { svg: '<svg viewBox="0 0 2 2"><path d="M9 9"/></svg>' };
  const diff = await call('diff', 'x/old', 'x/mine', 'x/same');
  expect(diff.status).toBe(3);
  expect(diff.out).toMatch(/-.*viewBox="0 0 1 1"[^]*\+.*viewBox="0 0 2 2"/);
  expect(diff.out).toContain('icons/x/mine.tsx (changed by hand)');
  icons['x/gone'] = 404;
  const update = await call('update');
  expect([update.status, update.err]).toEqual([1, 'iconedge-react: x/gone: the API has no icon x/gone\n']);
  expect(update.out.split('\n').map((line) => line.split(/ +/).slice(0, 2).join(' '))).toEqual([
    'kept icons/x/mine.tsx', 'update icons/x/old.tsx', 'same icons/x/same.tsx', '',
  ]); // prettier-ignore
  expect(await text('icons/x/old.tsx')).toContain('viewBox="0 0 2 2"');
  expect(await text('icons/x/mine.tsx')).toMatch(/\/\/ mine\n$/);
  expect(await shop.files('icons')).toContain('icons/x/gone.tsx');
  api.close();
});

test('list: licences, changes by hand, icons that the config does not allow', async () => {
  const call = (...args: string[]) => shop.run([...args, '--api', inject('edge'), '--out', 'icons']);
  expect(await call('list')).toEqual({ status: 0, out: '', err: '' });
  await call('add', 'mdi/home', 'nc/disc');
  await appendFile(join(shop.folder, 'icons/mdi/home.tsx'), '\n');
  await writeFile(join(shop.folder, 'icons/mdi/own.tsx'), 'export const own = 1;\n');
  const { status, out } = await call('list');
  expect(status).toBe(0);
  expect(out.trim().split('\n')).toEqual([
    expect.stringMatching(/^mdi\/home {2}icons\/mdi\/home\.tsx {2}Apache-2\.0 .*; changed by hand$/),
    expect.stringMatching(/^nc\/disc {2}.*CC-BY-NC-4\.0.*not for commercial use$/),
  ]);
  expect(await call('list', '--commercial')).toMatchObject({
    status: 1,
    out: expect.stringContaining('REFUSED') as string,
  });
  expect(await call('list', 'mdi/nope')).toMatchObject({
    status: 1,
    err: expect.stringContaining('mdi/nope') as string,
  });
});

test('remove: the files, and their place in the lists', async () => {
  const call = (...args: string[]) => shop.run([...args, '--api', inject('edge'), '--out', 'icons']);
  await call('add', 'mdi/home', 'mdi/square', 'bi/123', '--index');
  await appendFile(join(shop.folder, 'icons/mdi/square.tsx'), '// mine\n');
  await call('remove', 'mdi/home', '--dry-run');
  expect(await shop.files('icons/mdi')).toHaveLength(2);
  const { out } = await call('remove', 'mdi/home', 'mdi/square');
  expect(out).toMatch(/^remove .*home\.tsx\nkept .*square\.tsx/);
  expect(await text('icons/index.ts')).not.toContain('MdiHome');
  expect(await text('icons/CREDITS.txt')).not.toContain('mdi/home');
  await call('remove', 'mdi/square', 'bi/123', '--force');
  expect(await shop.files()).toEqual([]);
});

test('init: what the options say, without asking, and not twice', async () => {
  expect(await shop.run(['init', '--format', 'jsx', '--commercial'])).toEqual({
    status: 0,
    err: '',
    out: 'wrote iconedge.json\n',
  });
  const config = JSON.parse(await text('iconedge.json')) as unknown;
  expect(config).toEqual({
    api: 'http://127.0.0.1:8080',
    out: 'src/icons',
    format: 'jsx',
    commercial: true,
    index: false,
  });
  expect((await shop.run(['init'])).status).toBe(1);
  expect((await shop.run(['init', '--force', '--out', 'x'])).status).toBe(0);
  expect(JSON.parse(await text('iconedge.json'))).toEqual({ ...(config as object), out: 'x' });
});

test('types: the names of packs', async () => {
  const call = (...args: string[]) => shop.run(['types', ...args, '--api', inject('edge'), '--file', 'names.d.ts']);
  expect(await call('bi', 'lucide')).toMatchObject({ status: 0, err: '' });
  expect(await text('names.d.ts')).toContain('    "bi":\n      | "123";\n    "lucide":\n      | "home";\n');
  expect(await call('mdi')).toMatchObject({ status: 0, err: '' });
  expect(await call('nope')).toMatchObject({ status: 1, err: 'iconedge-react: the API has no pack nope\n' });
  expect((await call('../x')).status).toBe(1);
  await writeFile(join(shop.folder, 'names.d.ts'), 'mine');
  expect((await call('bi')).status).toBe(1);
  expect(await text('names.d.ts')).toBe('mine');
});
