import type { Drawing } from './render';

/** What the command writes: React in TypeScript or JavaScript, or the drawing itself. */
export type Format = 'tsx' | 'jsx' | 'svg';

/** The name of an icon's component: its words with capitals, "Icon" in front of a pack that begins with a digit. */
export function componentName(pack: string, name: string): string {
  const words = `${pack}-${name}`.split('-').map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return words.join('').replace(/^(?=\d)/, 'Icon');
}

/** Writes a whole module but for its first line, the credit. */
export function module(name: string, drawing: Drawing, format: Exclude<Format, 'svg'>): string {
  const types = format === 'tsx' ? 'type SVGProps' : '';
  const imports = [drawing.ids && 'useId', types].filter(Boolean).join(', ');
  const root = drawing.root.map(([prop, source]) => ` ${prop}=${source}`).join('');
  return [
    ...(imports ? [importing(imports), ''] : []),
    `export default function ${name}(props${types && ': SVGProps<SVGSVGElement>'}) {`,
    ...(drawing.ids ? ['  const id = "i" + useId().replace(/\\W/g, "") + "_";'] : []),
    '  return (',
    `    <svg xmlns="http://www.w3.org/2000/svg" width="1em" height="1em"${root} {...props}>`,
    ...drawing.children
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
