import { refuse } from './check';
import { Letters } from './letters';
import { read, type Element } from './read';
import { allowed, attributes, keywords, rootOmits, styled, texts } from './rules';
import { classes, sheet } from './sheet';
import { Declarations } from './style';
import { quote, quoted, value } from './value';

/** An attribute in JSX. Its source is a quoted string, or an expression in braces. */
export type Prop = [name: string, source: string];

/** An SVG in JSX. */
export interface JSX {
  root: Prop[]; // attributes of svg, without size and namespace, which the component sets
  children: string; // the content, each outermost element on a line of its own
  ids: boolean; // the sources use the variable id, which differs in each instance
}

/** Parses an SVG and writes it as JSX; throws a Refusal if it is unsafe. */
export function render(svg: string): JSX {
  const tree = read(svg);
  inheritColor(tree);
  const letters = new Letters(new Set(classes(tree)));
  const root = props({ ...tree, attributes: rootAttributes(tree) }, letters);
  const lines = tree.children.map((child) => write(child, false, letters)).filter(Boolean);
  return { root, children: lines.join('\n'), ids: letters.some };
}

const paints = /^(?:fill|stroke|color|stop-color|flood-color|lighting-color|style)$/;

/**
 * An icon in one colour of its own has it as the colour of its root. Its paints become currentColor, so that the color of
 * the component counts for them.
 */
function inheritColor(root: Element): void {
  const own = /^#(?:[\da-f]{3}){1,2}$/i.exec(new Map(root.attributes).get('color') ?? '')?.[0];
  if (!own) return;
  const walk = (element: Element) => {
    for (const child of element.children)
      if (typeof child !== 'string') {
        for (const attribute of child.attributes)
          if (paints.test(attribute[0])) attribute[1] = attribute[1].replaceAll(own, 'currentColor');
        if (child.name === 'style')
          child.children = child.children.map((c) => (typeof c === 'string' ? c.replaceAll(own, 'currentColor') : c));
        walk(child);
      }
  };
  walk(root);
}

const box = /^[\t\n\f\r ]*-?[\d.]+(?:e-?\d+)?(?:[\t\n\f\r ,]+-?[\d.]+(?:e-?\d+)?){3}[\t\n\f\r ]*$/;

/** The attributes of the outermost svg without size and namespaces. They always include a viewBox. */
function rootAttributes(root: Element): Element['attributes'] {
  const given = new Map(root.attributes);
  const kept = root.attributes.filter(([name]) => name !== 'width' && name !== 'height' && !rootOmits.has(name));
  const viewBox = given.get('viewBox');
  const sized = ['width', 'height'].map((name) => (given.get(name) ?? '').replace(/px$/, ''));
  const made = `0 0 ${sized.join(' ')}`;
  if (!box.test(viewBox ?? made)) refuse('it has no viewBox of four numbers');
  return viewBox === undefined ? [['viewBox', made], ...kept] : kept;
}

/** Writes one element, or a text that is shown. It puts nothing between elements, because JSX would render that as text. */
function write(node: Element | string, inText: boolean, letters: Letters): string {
  if (typeof node === 'string') return inText ? `{${quote(node)}}` : '';
  const start = '<' + [node.name, ...props(node, letters).map(([name, source]) => `${name}=${source}`)].join(' ');
  const inside =
    node.name === 'style'
      ? sheet(node, letters)
      : node.children.map((child) => write(child, texts.has(node.name), letters)).join('');
  return inside ? `${start}>${inside}</${node.name}>` : `${start} />`;
}

/** The attributes of an element in order, then its style. */
function props(element: Element, letters: Letters): Prop[] {
  const style = new Declarations();
  const list: Prop[] = [];
  for (const [name, written] of element.attributes) {
    if (styled.has(name)) style.setWeak(name, written);
    else if (name === 'style') style.read(written);
    else list.push(...prop(element.name, name, written, letters));
  }
  const source = style.source(letters);
  return source ? [...list, ['style', source]] : list;
}

/**
 * Writes one attribute. It omits an attribute that React has no name for, or whose value React's types do not allow;
 * browsers ignore those too.
 */
function prop(element: string, name: string, written: string, letters: Letters): Prop[] {
  const known = attributes.get(name);
  const trimmed = written.trim();
  if (name === 'tabindex' && /^(?:0|-?[1-9]\d{0,8})$/.test(trimmed)) return [['tabIndex', `{${trimmed}}`]];
  if (/^data-[a-z][a-z0-9-]*$/.test(name)) return [[name, quoted([written])]];
  if (!known || !allowed(keywords.get(name), trimmed)) return [];
  if (element === 'style' && (name === 'type' || name === 'media')) return [];
  return [[known, quoted(keywords.has(name) ? [trimmed] : value(name, written, letters))]];
}
