import { scan } from '../../xml';
import { Refusal } from '../refusal';
import { check, refuse } from './check';
import { elements } from './rules';

/** An element of an SVG, with its elements and texts. */
export interface Element {
  name: string;
  attributes: [name: string, value: string][];
  children: (Element | string)[];
}

const maxBytes = 1 << 20; // of an SVG: the limit of the service
const maxDepth = 100; // of nested elements
const illegal = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u; // XML 1.0, section 2.2
const named = /^[\p{L}_:][\p{L}\p{N}\p{M}_:.-]*$/u; // section 2.3, a little narrower
const doubleHyphen = /<!--(?:(?!-->)[^])*--(?!>)/; // section 2.5

/** Parses an SVG as strict XML, and rejects constructs that icons do not have (clients/go/react/testdata/react.json, READING). */
export function read(svg: string): Element {
  if (new TextEncoder().encode(svg).length > maxBytes) refuse(`it is longer than ${maxBytes} bytes`);
  if (illegal.test(svg) || doubleHyphen.test(svg)) refuse('it is not well-formed XML');
  const holder: Element = { name: '', attributes: [], children: [] };
  const open = [holder];
  const start = (name: string, attributes: Element['attributes']) => {
    const inner = open.at(-1)!;
    if (open.length > maxDepth || (inner === holder && holder.children.length))
      refuse('its elements are nested too deeply, or it has a second root');
    const element = take(name, attributes, inner === holder);
    inner.children.push(element);
    open.push(element);
  };
  try {
    scan(
      svg,
      start,
      () => open.pop(),
      (words) => addText(open.at(-1)!, words, open.length === 1),
    );
  } catch (error) {
    if (error instanceof Refusal) throw error;
    refuse('it is not well-formed XML');
  }
  return (holder.children[0] as Element | undefined) ?? refuse('it is not well-formed XML');
}

/** Reads a start tag if its element is allowed. Names are compared with their prefixes. */
function take(name: string, attributes: Element['attributes'], root: boolean): Element {
  if (!elements.has(name) || (root && name !== 'svg')) refuse('it has an element that icons may not have');
  const seen = new Set<string>();
  const kept = attributes.map(([attribute, raw]): [string, string] => {
    if (seen.has(attribute) || !named.test(attribute) || illegal.test(raw)) refuse('it is not well-formed XML');
    seen.add(attribute);
    const value = raw.replace(/\r\n|[\r\n\t]/g, ' ');
    check(name, attribute, value);
    return [attribute, value];
  });
  return { name, attributes: kept, children: [] };
}

/** Adds text to an element. Around the root only white space is allowed (XML 1.0, section 2.1). */
function addText(inner: Element, words: string, outside: boolean) {
  if (illegal.test(words) || (outside && words.trim())) refuse('it is not well-formed XML');
  if (outside) return;
  const text = words.replace(/\r\n?/g, '\n');
  const last = inner.children.length - 1;
  if (typeof inner.children[last] === 'string') inner.children[last] += text;
  else inner.children.push(text);
}
