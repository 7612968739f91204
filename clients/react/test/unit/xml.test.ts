import fc from 'fast-check';
import { expect, test } from 'vitest';
import { scan } from '../../src/xml';

/** The calls of scan, as text. */
function calls(xml: string): string {
  const parts: string[] = [];
  scan(
    xml,
    (name, attributes) =>
      parts.push(`(${name}${attributes.map(([key, value]) => ` ${key}=${JSON.stringify(value)}`).join('')}`),
    () => parts.push(')'),
    (words) => parts.push(JSON.stringify(words)),
  );
  return parts.join('');
}

test.each([
  ['<a/>', '(a)'],
  ['<a b="1" c=\'"2"\' />', '(a b="1" c="\\"2\\"")'],
  ['<a><b>x</b>y</a>', '(a(b"x")"y")'],
  ['<?xml version="1.0"?>\n<!-- <b> --><a/>', '"\\n"(a)'],
  ['<a>&lt;&amp;&gt;&quot;&apos;&#65;&#x42;</a>', '(a"<&>\\"\'AB")'],
  ['<a b="&#10;&lt;"/>', '(a b="\\n<")'],
  ['<a><![CDATA[<b>&amp;]]></a>', '(a"<b>&amp;")'],
  ['<a\n  b = "1"\t></a >', '(a b="1")'],
])('%j is read as %s', (xml, want) => expect(calls(xml)).toBe(want));

test.each([
  '<a>', '</a>', '<a></b>', '<a b></a>', '<a b=c/>', '<a b="<"/>', '<a b="1"c="2"/>', '<a>&nbsp;</a>', '<a>&</a>', '<a>&#xg;</a>', '<a>&#1e3;</a>',
  '<a>&#x110000;</a>', '<a>&constructor;</a>', '<a>&__proto__;</a>', '<!DOCTYPE a><a/>', '<?x y?><a/>', '<a><!-- </a>', '<a><![CDATA[ </a>', '<', '<a', '< a/>', '<a>]]></a>',
  '<a>'.repeat(101) + '</a>'.repeat(101),
])('%j is refused', (xml) => expect(() => calls(xml)).toThrow()); // prettier-ignore

const name = fc.stringMatching(/^[a-z][a-z0-9:-]{0,4}$/);
const words = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 6 });
const escape = (text: string) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const { tree } = fc.letrec<{ tree: [xml: string, calls: string] }>((tie) => ({
  tree: fc
    .tuple(
      name,
      fc.dictionary(name, words, { maxKeys: 3 }),
      fc.array(fc.oneof({ maxDepth: 4 }, words, tie('tree')), { maxLength: 3 }),
    )
    .map(([name, attributes, children]) => {
      const list = Object.entries(attributes);
      const written = list.map(([key, value]) => ` ${key}="${escape(value)}"`).join('');
      const listed = list.map(([key, value]) => ` ${key}=${JSON.stringify(value)}`).join('');
      const inside = children.map(
        (child) => (typeof child === 'string' ? [escape(child), JSON.stringify(child)] : child) as string[],
      );
      return [
        `<${name}${written}>${inside.map(([xml]) => xml).join('')}</${name}>`,
        `(${name}${listed}${inside.map(([, text]) => text).join('')})`,
      ];
    }),
}));

test('scan reads back the written tree', () => {
  fc.assert(
    fc.property(tree, ([xml, want]) => {
      expect(calls(xml).replaceAll('""', '')).toBe(want.replaceAll('""', '')); // adjacent texts are one
    }),
    { numRuns: 500 },
  );
});

test('accepted input has as many ends as starts', () => {
  const piece = fc.constantFrom(
    '<a>',
    '</a>',
    '<a/>',
    '<!--',
    '-->',
    '<![CDATA[',
    ']]>',
    '"',
    "'",
    ' b=',
    '&',
    ';',
    '<',
    '>',
    '/',
    '<?xml ',
    '?>',
    'x',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 10 }), (pieces) => {
      let depth = 0;
      try {
        scan(
          pieces.join(''),
          () => depth++,
          () => depth--,
          () => {},
        );
      } catch {
        return;
      }
      expect(depth).toBe(0);
    }),
    { numRuns: 5000 },
  );
});
