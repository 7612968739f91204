import { check, checkValue, refuse } from '../react/src/cli/jsx/check';
import { scan } from '../react/src/xml';

// The elements of clients/go/react/rules.json, which a test compares with this expression.
const allowed =
  /^(animate(Motion|Transform)?|circle|clipPath|defs|desc|ellipse|fe[A-Z]\w+|filter|g|image|line|\w+Gradient|marker|mask|mpath|path|pattern|poly\w+|rect|set|stop|style|svg|switch|symbol|text(Path)?|title|tspan|use)$/;

/** Throws if an SVG could run a script, refer to something outside, or is not well-formed. */
export function checkSVG(svg: string): void {
  const open: string[] = [];
  let roots = 0;
  scan(
    svg,
    (name, attributes) => {
      if (!allowed.test(name) || (!open.length && (roots++ || name !== 'svg'))) refuse('');
      for (const [attribute, value] of attributes) check(name, attribute, value);
      open.push(name);
    },
    () => open.pop(),
    (words) => {
      if (open.at(-1) === 'style') checkValue(words);
      if (!open.length && words.trim()) refuse('');
    },
  );
  if (!roots) refuse('');
}
