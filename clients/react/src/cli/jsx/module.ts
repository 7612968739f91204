import type { JSX } from './render';

/** The format of a copy: React in TypeScript or JavaScript, or the SVG itself. */
export type Format = 'tsx' | 'jsx' | 'svg';

/** The name of an icon's component: the capitalised words of pack and name. Before a digit it begins with "Icon". */
export function componentName(pack: string, name: string): string {
  const words = `${pack}-${name}`.split('-').map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return words.join('').replace(/^(?=\d)/, 'Icon');
}

/** Returns a whole module, except its first line, the credit. */
export function module(name: string, jsx: JSX, format: Exclude<Format, 'svg'>): string {
  const types = format === 'tsx' ? 'type SVGProps' : '';
  const imports = [jsx.ids && 'useId', types].filter(Boolean).join(', ');
  const root = jsx.root.map(([prop, source]) => ` ${prop}=${source}`).join('');
  return [
    ...(imports ? [importing(imports), ''] : []),
    `export default function ${name}(props${types && ': SVGProps<SVGSVGElement>'}) {`,
    ...(jsx.ids ? ['  const id = "i" + useId().replace(/\\W/g, "") + "_";'] : []),
    '  return (',
    `    <svg xmlns="http://www.w3.org/2000/svg" width="1em" height="1em"${root} {...props}>`,
    ...jsx.children
      .split('\n')
      .filter(Boolean)
      .map((line) => '      ' + line),
    '    </svg>',
    '  );',
    '}',
    '',
  ].join('\n');
}

const importing = (names: string) =>
  names === 'type SVGProps' ? 'import type { SVGProps } from "react";' : `import { ${names} } from "react";`;
