import { existsSync, readFileSync } from 'node:fs';
import { transform } from 'esbuild';
import fc from 'fast-check';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';
import { componentName, module } from '../../src/cli/jsx/module';
import { render } from '../../src/cli/jsx/render';
import { Refusal } from '../../src/cli/refusal';

interface Table {
  module: string;
  moduleWithIds: string;
  names: { pack: string; name: string; component: string }[];
  cases: { about: string; svg: string; root: [string, string][]; children: string; ids: boolean }[];
  refused: { about: string; svg: string }[];
}

// The corpus of the MCP server's renderer (clients/go/react), which writes the same components.
const path = new URL('../../../../clients/go/react/testdata/react.json', import.meta.url);
const alone = !existsSync(path);
if (alone) console.warn('SKIPPED: clients/go/react/testdata/react.json is not there, the corpus of the renderers');

describe.skipIf(alone)('the shared corpus', () => {
  const table = (alone ? { names: [], cases: [], refused: [] } : JSON.parse(readFileSync(path, 'utf8'))) as Table;

  test.each(table.cases)('$about', ({ svg, root, children, ids }) => {
    expect(render(svg)).toEqual({ root, children, ids });
  });

  test.each(table.refused)('refuses $about', ({ svg }) => {
    expect(() => render(svg)).toThrow(Refusal);
  });

  test.each(table.names)('$pack/$name is $component', ({ pack, name, component }) => {
    expect(componentName(pack, name)).toBe(component);
  });

  test('modules are written as it says, less the credit', () => {
    const plain = render('<svg viewBox="0 0 24 24"><path d="M0 0h24"/><path d="M0 9h24"/></svg>');
    expect(module('MdiHome', plain, 'tsx')).toBe(table.module.replace(/^.*\n/, ''));
    const withIds = render('<svg viewBox="0 0 24 24"><path id="x" d="M0 0h24"/></svg>');
    expect(module('MdiHome', withIds, 'tsx')).toBe(table.moduleWithIds.replace(/^.*\n/, ''));
  });
});

test('a JSX module has no types, and imports useId alone', () => {
  const plain = render('<svg viewBox="0 0 1 1"/>');
  expect(module('A', plain, 'jsx')).toMatch(/^export default function A\(props\) \{\n/);
  const withIds = render('<svg viewBox="0 0 1 1"><g id="a"/></svg>');
  expect(module('A', withIds, 'jsx')).toMatch(/^import \{ useId \} from "react";\n/);
});

// Pieces with a meaning in XML, CSS, JSX or JavaScript, in random order.
const piece = fc.constantFrom(
  '<g>', '</g>', '<path d="M0 0"/>', '<text>', '</text>', '<style>.a{fill:red}</style>', '<title>', '</title>', ' id="a"', ' href="#a"',
  ' style="', ' fill="url(#a)"', '"', "'", '{', '}', '`', '${x}', '*/', '//', '\u2028', '\\', '&amp;', '&#123;', '&quot;', '<', '>', '/>', ']]>', '<![CDATA[',
  '<!--', '-->', '<script>', 'onload="x"', 'javascript:', '=', ' ', '\n', '<rect ', '<animate begin="a.end"/>', 'é', '😀',
); // prettier-ignore
const svgs = fc.array(fc.oneof(piece, fc.string({ maxLength: 5 })), { maxLength: 12 });

/** The parts of a module that could run, apart from the component itself and the call of useId. */
function running(source: string): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node) => {
    const plain = ts.isStringLiteral(node) || ts.isIdentifier(node) || node.getText().startsWith('useId()');
    if (ts.isCallExpression(node) && !plain) found.push(node.getText());
    if (ts.isIdentifier(node) && !known.test(node.text) && !ts.isJsxAttribute(node.parent) && !isName(node))
      found.push(node.text);
    if (ts.isFunctionLike(node) && !ts.isFunctionDeclaration(node)) found.push(node.getText());
    if (ts.isTemplateLiteral(node) || ts.isTaggedTemplateExpression(node)) found.push(node.getText());
    if (ts.isJsxAttribute(node) && /^on/i.test(node.name.getText())) found.push(node.getText());
    if (ts.isJsxOpeningLikeElement(node) && /script|object/i.test(node.tagName.getText())) found.push(node.getText());
    node.forEachChild(visit);
  };
  const file = ts.createSourceFile('a.tsx', source, ts.ScriptTarget.ES2022, true, ts.ScriptKind.TSX);
  visit(file);
  return found;
}
const known = /^(A|id|props|useId|replace|SVGProps|SVGSVGElement)$/;
const isName = ({ parent }: ts.Node) =>
  ts.isPropertyAssignment(parent) || ts.isJsxOpeningLikeElement(parent) || ts.isJsxClosingElement(parent);

test('every accepted SVG compiles to one function of elements and strings', async () => {
  await fc.assert(
    fc.asyncProperty(svgs, async (pieces) => {
      const svg = `<svg viewBox="0 0 1 1">${pieces.join('')}</svg>`;
      let taken;
      try {
        taken = render(svg);
      } catch (error) {
        expect(error).toBeInstanceOf(Refusal);
        return;
      }
      const source = module('A', taken, 'tsx');
      await transform(source, { loader: 'tsx', jsx: 'automatic' });
      expect(running(source)).toEqual([]);
    }),
    { numRuns: 2000 },
  );
});

test.each(['alert()', '`${x}`', '(() => 1)', 'y', 'x.replace("a")'])('that test would see %s', (code) => {
  expect(running(`export default function A() { return <p a={${code}} />; }`)).not.toEqual([]);
});

test.each(['<p onClick="x" />', '<script />'])('that test would see %s', (code) => {
  expect(running(`export default function A() { return ${code}; }`)).not.toEqual([]);
});
