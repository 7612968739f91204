/** An SVG in one colour of its own, which its root names, in currentColor, so that another colour can take its place. */
export function takesColor(svg: string): string {
  const own = /^<svg [^>]*\bcolor="(#\w+)"/.exec(svg)?.[1];
  return own ? svg.replaceAll(own, 'currentColor') : svg;
}
