import { refuse, scan } from './xml';

/** One copy of a drawing that a CDN answered: what it says of its svg, in React's words, and what is in that. */
export interface Drawing {
  root: Record<string, string>;
  shapes: ChildNode[];
}

// What is drawn: SVG's shapes, paints, effects and animations. Not in it, and left out with all they hold: script, style,
// foreignObject, feImage, a, title, metadata. All are made in SVG's namespace, where a name nobody knows does nothing.
const drawn =
  /^(svg|g|path|rect|circle|ellipse|line|poly\w+|use|symbol|defs|clipPath|ma(sk|rker)|filter|pattern|stop|\w+Gradient|fe(?!I)\w+|animate\w*|set|mpath|switch|t(ext(Path)?|span)|image)$/;

// Attributes that are left out: those that run, or mean something to the page around and the frameworks in it (Alpine's x-init
// is a program); and all with a prefix.
const foreign = /^(on|class|role|aria|tab|auto|xml|data|hx|ng|[vx]-)|[:@]/i;

// What an animation may not change: a target, an event, an identity, declarations.
const still = /href|^(on|style|class|id)/i;

// Values that run or load; an escape could spell any of the words.
const loads = /\\|(url|src|image|-set)\((?!\s*["']?#)|javascript:/i;

// Where a value names an id, which gets the prefix of its copy: at the front of it, or in url(#…).
const places: Record<string, RegExp> = { id: /^/, href: /^#/, begin: /(^|;)\s*(?=[^;.\s]+\.[a-z])/gi };
places.end = places.begin!;

let copies = 0;

/** Builds one copy of what is known to be harmless alone, with ids of the copy's own; throws when it is no SVG. */
export function draw(text: string): Drawing {
  const prefix = `i${++copies}-`;
  const open: ParentNode[] = [new DocumentFragment()];
  scan(
    text,
    (name, attributes) => {
      let kept = drawn.test(name);
      const node = document.createElementNS('http://www.w3.org/2000/svg', kept ? name : 'g');
      for (const [written, value] of attributes) {
        const name = written.replace('xlink:', '');
        if (name === 'attributeName' && still.test(value)) kept = false;
        if (foreign.test(name) || loads.test(value)) continue;
        if (name === 'href' && !/^(#|data:image\/(?!svg))/i.test(value)) continue;
        const own = value.replace(places[name] ?? /url\(\s*["']?#/gi, '$&' + prefix);
        // style-src 'self' refuses a style attribute wherever it comes from, but not the same declarations by the CSSOM.
        if (name === 'style') node.style.cssText = own;
        else node.setAttribute(name, own);
      }
      if (kept) open[0]!.append(node);
      open.unshift(node);
    },
    () => open.shift(),
    (words) => open[0]!.append(words),
  );
  const svg = open[0]!.firstElementChild;
  return svg?.nodeName === 'svg' ? { root: paint(svg), shapes: [...svg.childNodes] } : refuse();
}

/** The root's paint is inherited by what is in it, and the page's own attributes win over it. */
function paint(svg: Element) {
  const root: Drawing['root'] = {};
  for (const { name, value } of svg.attributes)
    if (/^(viewBox|preserveA|fill|stroke|clip-r)/.test(name))
      root[name.replace(/-./g, (c) => c[1]!.toUpperCase())] = value;
  return root;
}
