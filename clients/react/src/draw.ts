import { refuse, scan } from './xml';

/** One instance of an SVG from the CDN: the attributes of its svg element by their React names, and the children. */
export interface Instance {
  root: Record<string, string | undefined>;
  shapes: ChildNode[];
}

// The allowed elements: SVG's shapes, paints, effects and animations. All others are omitted with their content: script,
// style, foreignObject, a, title, metadata. All are created in SVG's namespace, where unknown names do nothing.
const drawn =
  /^(svg|g|path|rect|circle|ellipse|line|poly\w+|use|symbol|defs|clipPath|ma(sk|rker)|filter|pattern|stop|\w+Gradient|fe\w+|anim\w+|set|mpath|switch|t(ext(Path)?|span)|image)$/;

// Omitted attributes: those that run, those with a meaning for the page or its frameworks (Alpine's x-init is a program),
// and all with a prefix.
const foreign = /^(on|class|role|aria|tab|auto|xml|data|hx|ng|[vx]-)|[:@]/i;

// Attributes that no animation may change: link targets, event handlers, identities, declarations.
const still = /href|^(on|class|style|id)/i;

// Values that run or load something. A backslash could spell any of these words.
const loads = /\\|(url|src|image|-set)\((?!\s*["']?#)|javascript:/i;

// Where a value contains an id, which gets the prefix of its instance: at the beginning, or in url(#…).
const places: Record<string, RegExp> = { id: /^/, href: /^#/, begin: /(^|;)\s*(?=[^;.\s]+\.[a-z])/gi };
places.end = places.begin!;

let copies = 0;

/** Builds one instance from allowed elements and attributes only, with its own ids. Throws if the text is not an SVG. */
export function draw(text: string): Instance {
  const prefix = `i${++copies}_`; // browsers read a hyphen as a minus in times such as a.end-1s
  // An icon in one colour of its own names it at its root. As the colour of the text, it can be another one in the page.
  const own = /^[^>]*r="(#\w+)/.exec(text)?.[1];
  const open: ParentNode[] = [new DocumentFragment()];
  scan(
    text.replaceAll(own || '\0', 'currentColor'), // no XML has a NUL
    (name, attributes) => {
      let kept = drawn.test(name);
      const node = document.createElementNS('http://www.w3.org/2000/svg', kept ? name : 'g');
      for (const [written, value] of attributes) {
        const name = written.replace('xlink:', '');
        if (name === 'attributeName' && still.test(value)) kept = false;
        if (foreign.test(name) || loads.test(value)) continue;
        if (name === 'href' && !/^(#|data:image\/(?!svg))/i.test(value)) continue;
        const own = value.replace(places[name] ?? /url\(\s*["']?#/gi, '$&' + prefix);
        // style-src 'self' blocks every style attribute, but not the same declarations through the CSSOM.
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
  return svg?.nodeName === 'svg' ? { root: { color: own, ...paint(svg) }, shapes: [...svg.childNodes] } : refuse();
}

/** The paint of the root. The children inherit it, and attributes from the page override it. */
function paint(svg: Element) {
  const root: Instance['root'] = {};
  for (const { name, value } of svg.attributes)
    if (/^(viewBox|preserveA|fill|stroke|clip-r)/.test(name))
      root[name.replace(/-./g, (c) => c[1]!.toUpperCase())] = value;
  return root;
}
