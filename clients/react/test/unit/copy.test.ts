import { transform } from 'esbuild';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Icon } from '../../src/cli/api';
import { copy, credit } from '../../src/cli/copy';
import { credits, exported } from '../../src/cli/lists';
import { intact, seal, unsealed } from '../../src/cli/seal';
import { changes } from '../../src/cli/copied';
import { declaration } from '../../src/cli/types';
import type { Copied } from '../../src/cli/files';

const home: Icon = {
  pack: 'mdi', name: 'home', svg: '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M0 0h1"/></svg>',
  license: 'MIT', licenseUrl: 'https://example.org/', attribution: 'Home by Me, MIT', commercial: true,
}; // prettier-ignore

describe.each(['tsx', 'jsx', 'svg'] as const)('a copy as %s', (format) => {
  test('says whose it is, and can be read again', () => {
    const text = copy(home, format);
    expect(credit(text)).toEqual({
      pack: 'mdi',
      name: 'home',
      attribution: 'Home by Me, MIT',
      license: 'MIT (https://example.org/)',
    });
    expect(intact(text)).toBe(true);
    expect(intact(text.replaceAll('\n', '\r\n'))).toBe(true);
    expect(intact(text.replace('M0', 'M1'))).toBe(false);
    expect(copy(home, format)).toBe(text);
  });

  test('a foreign credit stays in its comment', async () => {
    const hostile = fc.array(
      fc.oneof(
        fc.constantFrom(
          '*/',
          '/*',
          '\n',
          '\r',
          '\u2028',
          '\u2029',
          '`',
          '${pwned()}',
          '{',
          '}',
          '-->',
          '--',
          '<script>',
          '//',
          unsealed,
          ', license ',
        ),
        fc.string({ maxLength: 4 }),
      ),
      { maxLength: 6 },
    );
    await fc.assert(
      fc.asyncProperty(hostile, hostile, async (attribution, license) => {
        const text = copy({ ...home, attribution: attribution.join(''), license: license.join('') }, format);
        expect(intact(text)).toBe(true);
        const lines = text.split('\n');
        expect(lines.slice(2)).toEqual(copy(home, format).split('\n').slice(2));
        if (format === 'svg') for (const line of lines.slice(0, 2)) expect(line).toMatch(/^<!-- (?:(?!--).)* -->$/u);
        else expect((await transform(lines.slice(0, 2).join('\n'), { loader: 'ts', minify: true })).code).toBe('');
      }),
      { numRuns: 300 },
    );
  });
});

test('a copied SVG loses its XML declaration, which would not be at the beginning', () => {
  expect(copy({ ...home, svg: '<?xml version="1.0"?>\r\n' + home.svg }, 'svg')).toBe(copy(home, 'svg'));
});

test('an icon for non-commercial use says so', () => {
  expect(copy({ ...home, commercial: false }, 'tsx').split('\n')[0]).toMatch(/, not for commercial use$/);
});

test.each(['', 'x', '// hello', '// a/b', '<!-- ../x: a, license b -->', '// mdi/home/x: a, license b'])(
  '%j is no credit',
  (text) => {
    expect(credit(text)).toBeUndefined();
  },
);

test('a text without the line is not intact', () =>
  expect([intact(''), intact(unsealed), intact(seal(unsealed))]).toEqual([false, false, true]));

const copied = (pack: string, name: string, attribution = pack): Copied => ({
  pack, name, attribution, license: 'MIT', path: '', text: '', format: 'tsx',
}); // prettier-ignore

test('credits: a paragraph an attribution', () => {
  const text = credits([copied('a', 'x', 'A'), copied('b', 'y', 'B'), copied('a', 'z', 'A')]);
  expect(text.split('\n').slice(2).join('\n')).toBe('\nA\nlicense MIT\n  a/x\n  a/z\n\nB\nlicense MIT\n  b/y\n');
  expect(intact(text)).toBe(true);
});

test('the index: components with the same name get numbers', () => {
  const text = exported([copied('mdi', 'home-1'), copied('mdi', 'home1'), copied('mdi-home', '1')]);
  expect(text.match(/as \w+/g)).toEqual(['as MdiHome1', 'as MdiHome1_2', 'as MdiHome1_3']);
});

test('changes are the lines that differ', () => {
  expect(changes('a\nb\nc\n', 'a\nx\ny\nc\n')).toBe('@@ line 2 @@\n-b\n+x\n+y');
  expect(changes('a\n', 'a\na\n')).toBe('@@ line 2 @@\n+a');
});

test('names of packs as a declaration', () => {
  const text = declaration({ '3d': [], mdi: ['a', 'b'] });
  expect(text).toContain('    "3d":\n      never;\n    "mdi":\n      | "a"\n      | "b";\n');
});
