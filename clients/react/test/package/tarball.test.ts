import { createRequire } from 'node:module';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pack, project, run, type Packed } from './project';

let packed: Packed;
let app: Awaited<ReturnType<typeof project>>;
beforeAll(async () => {
  app = await project();
  packed = await pack(app.folder);
  await app.unpack(packed.tarball);
  await app.link('react');
});
afterAll(() => app.remove());
const installed = (path: string) => app.read(`node_modules/@iconedge/react/${path}`);

test('has what it needs and nothing else', () => {
  expect(packed.files.map(({ path }) => path).sort()).toEqual([
    'LICENSE', 'README.md', 'dist/cli.js', 'dist/index.cjs', 'dist/index.d.cts', 'dist/index.d.ts', 'dist/index.js', 'package.json',
  ]); // prettier-ignore
  expect(packed.unpackedSize).toBeLessThan(400_000);
  expect(packed.files.find(({ path }) => path === 'dist/cli.js')!.mode & 0o111).not.toBe(0);
});

test('package.json keeps its promises', async () => {
  const manifest = JSON.parse(await installed('package.json')) as Record<string, unknown>;
  expect(manifest).toMatchObject({
    name: '@iconedge/react', license: 'Apache-2.0', sideEffects: false, bin: { 'iconedge-react': 'dist/cli.js' },
    peerDependencies: { react: '^18.0.0 || ^19.0.0' }, repository: { type: 'git' }, engines: { node: '>=20' },
  }); // prettier-ignore
  expect(manifest).not.toHaveProperty('dependencies');
  expect(manifest).not.toHaveProperty('private');
  expect(Object.keys(manifest.scripts as object)).not.toContainEqual(expect.stringMatching(/install|prepare/));
});

test('each entry file is of the client, the command begins as one', async () => {
  for (const entry of ['dist/index.js', 'dist/index.cjs'])
    expect((await installed(entry)).split('\n')[0]).toBe("'use client';");
  expect((await installed('dist/cli.js')).split('\n')[0]).toBe('#!/usr/bin/env node');
});

test('can be imported and required', async () => {
  const words = 'console.log(typeof Icon, typeof configureIcons)';
  const imported = await run(
    'node',
    ['--input-type=module', '-e', `import { Icon, configureIcons } from '@iconedge/react'; ${words}`],
    { cwd: app.folder },
  );
  const required = await run('node', ['-e', `const { Icon, configureIcons } = require('@iconedge/react'); ${words}`], {
    cwd: app.folder,
  });
  expect([imported.stdout, required.stdout]).toEqual(['object function\n', 'object function\n']);
});

test('publint has nothing to say', async () => {
  const { messages } = await publint({
    pkgDir: join(app.folder, 'node_modules/@iconedge/react'),
    strict: true,
    pack: false,
  });
  expect(messages.map((message) => formatMessage(message, {}))).toEqual([]);
});

test('the types are not wrong', async () => {
  const attw = createRequire(import.meta.url).resolve('@arethetypeswrong/cli/package.json');
  const { stdout } = await run('node', [join(attw, '../dist/index.js'), packed.tarball, '--format', 'json']);
  expect((JSON.parse(stdout) as { analysis: { problems: unknown[] } }).analysis.problems).toEqual([]);
});

describe('its size in a bundle', () => {
  const bundled = async (contents: string) => {
    const { outputFiles } = await build({
      stdin: { contents, resolveDir: app.folder, loader: 'js' }, // as in a user's page
      bundle: true, minify: true, write: false, format: 'esm', external: ['react'], legalComments: 'none', logLevel: 'error',
    }); // prettier-ignore
    return outputFiles[0]!.contents;
  };

  test('Icon: at most 2,048 bytes, compressed', async () => {
    const size = gzipSync(await bundled("export { Icon, configureIcons } from '@iconedge/react'"), { level: 9 }).length;
    console.log(`Icon: ${size} bytes`);
    expect(size).toBeLessThanOrEqual(2048);
  });

  test('nothing, when nothing is used', async () => {
    expect((await bundled("import { Icon } from '@iconedge/react'; console.log(1)")).length).toBeLessThan(200);
  });

  test('no code from text', async () => {
    expect(Buffer.from(await bundled("export * from '@iconedge/react'")).toString()).not.toMatch(
      /\beval\b|new Function|innerHTML/,
    );
  });
});
