import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest';
import { bundle, reacts } from '../browser/harness';
import { root, run } from './project';

interface Copied {
  markup: (name: string, props?: object, times?: number) => string;
  names: string[];
}

/** All icons of the test library, copied in, and a module that renders them. */
describe.each(reacts.flatMap((react) => (['tsx', 'jsx'] as const).map((format) => [react, format] as const)))(
  'React %s: components as %s',
  (react, format) => {
    let folder: string;
    let copied: Copied;
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'iconedge-react-'));
      const library = join(root, 'test/library');
      const packs = (await readdir(library)).map(async (pack) =>
        (await readdir(join(library, pack)))
          .filter((file) => file.endsWith('.svg'))
          .map((file) => `${pack}/${file.slice(0, -4)}`),
      );
      const names = (await Promise.all(packs)).flat();
      await run(
        'node',
        [join(root, 'dist/cli.js'), 'add', ...names, '--format', format, '--index', '--api', inject('edge')],
        { cwd: folder },
      );
      await writeFile(
        join(folder, 'all.tsx'),
        `import { createElement as h } from 'react';
         import { renderToString } from 'react-dom/server';
         import * as all from './src/icons/index';
         export const names = Object.keys(all);
         export const markup = (name, props, times = 1) =>
           renderToString(h('div', null, Array.from({ length: times }, (_, key) => h(all[name], { key, ...props }))));`,
      );
      await writeFile(
        join(folder, 'all.cjs'),
        await bundle(join(folder, 'all.tsx'), react, { format: 'cjs', platform: 'node' }),
      );
      copied = (await import(join(folder, 'all.cjs'))) as Copied;
    });
    afterAll(() => rm(folder, { recursive: true }));

    test('render without a warning, each with its viewBox and shapes', () => {
      const spoken = [vi.spyOn(console, 'error'), vi.spyOn(console, 'warn')];
      for (const name of copied.names)
        expect(copied.markup(name)).toMatch(/<svg [^>]*viewBox="[\d ]+".*<(path|rect|circle)/);
      for (const spy of spoken) expect(spy).not.toHaveBeenCalled();
      vi.restoreAllMocks();
      expect(copied.names).toEqual(expect.arrayContaining(['Bi123', 'LucideHome', 'MdiHome', 'PaintGradient']));
      expect(copied.markup('LucideHome').match(/<path/g)).toHaveLength(2);
    });

    test('props win', () => {
      const markup = copied.markup('MdiHome', { className: 'c', width: 32, viewBox: '0 0 9 9', 'aria-label': 'Home' });
      expect(markup).toMatch(/<svg [^>]*width="32" height="1em" viewBox="0 0 9 9" class="c" aria-label="Home">/);
    });

    test('ids are of each copy', () => {
      const ids = copied.markup('PaintGradient', {}, 2).match(/ id="[^"]+"/g)!;
      expect([ids.length, new Set(ids).size]).toEqual([6, 6]);
    });
  },
);
