// A document of Figma with what the plugin may use of it, as the documentation says; anything else throws.
import type { FrameNode, Paint, PluginAPI, SceneNode } from '@figma/plugin-typings/plugin-api-standalone';
import { parts, strict } from '../../design/test/strict';

type Documented = Pick<
  FrameNode,
  'id' | 'type' | 'name' | 'x' | 'y' | 'width' | 'height' | 'relativeTransform' | 'constraints' | 'fills' | 'strokes'
> &
  Pick<FrameNode, 'rescale' | 'resizeWithoutConstraints' | 'getSharedPluginData' | 'setSharedPluginData' | 'remove'> &
  Pick<FrameNode, 'fillStyleId' | 'strokeStyleId' | 'setFillStyleIdAsync' | 'setStrokeStyleIdAsync'>;

const rgb = (hex: string) => {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255);
  return { r: r!, g: g!, b: b! };
};
export const solid = (hex: string, opacity = 1): Paint => ({ type: 'SOLID', visible: true, opacity, color: rgb(hex) });

let ids = 0;

export class Node implements Omit<Documented, 'type'> {
  readonly id = `1:${++ids}`;
  name = '';
  width = 100;
  height = 100;
  relativeTransform: [[number, number, number], [number, number, number]] = [
    [1, 0, 0],
    [0, 1, 0],
  ];
  constraints = { horizontal: 'MIN', vertical: 'MIN' } as const;
  fills: readonly Paint[] = [];
  strokes: readonly Paint[] = [];
  parent: Parent | null = null;
  readonly data = new Map<string, string>();
  readonly styles = { fill: '', stroke: '' };
  /** The node as the plugin sees it. */
  readonly seen: this = strict(this, 'the node');

  constructor(readonly type: string) {}

  get x() {
    return this.relativeTransform[0][2];
  }
  set x(v: number) {
    this.relativeTransform = [[...this.relativeTransform[0].slice(0, 2), v] as never, this.relativeTransform[1]];
  }
  get y() {
    return this.relativeTransform[1][2];
  }
  set y(v: number) {
    this.relativeTransform = [this.relativeTransform[0], [...this.relativeTransform[1].slice(0, 2), v] as never];
  }
  // With documentAccess dynamic-page both are read-only.
  get fillStyleId() {
    return this.styles.fill;
  }
  get strokeStyleId() {
    return this.styles.stroke;
  }
  async setFillStyleIdAsync(id: string) {
    this.styles.fill = id;
    this.fills = [solid('#00ff00')];
  }
  async setStrokeStyleIdAsync(id: string) {
    this.styles.stroke = id;
    this.strokes = [solid('#00ff00')];
  }
  rescale(scale: number) {
    if (!(scale >= 0.01)) throw new Error('the scale must be at least 0.01');
    this.resizeWithoutConstraints(this.width * scale, this.height * scale);
  }
  resizeWithoutConstraints(width: number, height: number) {
    if (!(width >= 0.01 && height >= 0.01)) throw new Error('a side must be at least 0.01');
    [this.width, this.height] = [width, height];
  }
  getSharedPluginData(namespace: string, key: string) {
    return this.data.get(`${namespace}/${key}`) ?? '';
  }
  setSharedPluginData(namespace: string, key: string, value: string) {
    if (!/^\w{3,}$/.test(namespace)) throw new Error('a namespace has at least 3 characters');
    this.data.set(`${namespace}/${key}`, value);
  }
  remove() {
    this.parent?.detach(this);
    this.parent = null;
  }
}

/** A frame, a group or a page. */
export class Parent extends Node {
  nodes: Node[] = [];
  layoutMode = 'NONE';
  locked = false; // as the inside of an instance

  get children() {
    return this.nodes.map((n) => n.seen);
  }
  add(...nodes: Node[]) {
    for (const n of nodes) this.put(this.nodes.length, n);
    return this;
  }
  put(index: number, n: Node) {
    n.remove();
    this.nodes.splice(index, 0, n);
    n.parent = this.seen;
  }
  detach(n: Node) {
    this.nodes = this.nodes.filter((other) => other.id !== n.id);
  }
  insertChild(index: number, child: SceneNode) {
    if (this.locked) throw new Error('cannot move node. New parent is an instance or is inside of an instance');
    if (index < 0 || index > this.nodes.length) throw new Error('no such index');
    this.put(index, raw(child));
  }
  findAll(is: (n: SceneNode) => boolean): SceneNode[] {
    return this.every().filter((n) => is(n.seen as never)) as never;
  }
  every(): Node[] {
    return this.nodes.flatMap((n) => [n, ...(n instanceof Parent ? n.every() : [])]);
  }
}

const nodes = new Map<string, Node>();
const raw = (n: { id: string }) => nodes.get(n.id)!;
export const note = <T extends Node>(n: T): T => {
  nodes.set(n.id, n);
  return n;
};

/** Figma with one page. */
export class Figma {
  readonly page = note(new Parent('PAGE'));
  readonly posted: { type: string; [name: string]: unknown }[] = [];
  readonly stored = new Map<string, unknown>();
  readonly steps: string[] = []; // the page at each commitUndo
  selection: Node[] = [];
  shown: unknown;
  closed = false;
  onPost: ((m: unknown) => void) | undefined;
  onmessage: (m: unknown) => Promise<void> = async () => undefined;

  /** What the page has, as text. */
  state = (): string =>
    JSON.stringify(this.page.every(), ['id', 'name', 'width', 'height', 'relativeTransform', 'fills', 'color', 'r']);

  readonly api: PluginAPI;

  constructor() {
    // eslint-disable-next-line @typescript-eslint/no-this-alias
    const host = this;
    const page = strict(
      {
        get selection() {
          return host.selection.map((n) => n.seen) as never;
        },
        set selection(chosen: readonly SceneNode[]) {
          host.selection = chosen.map(raw);
        },
        findAllWithCriteria: ({ sharedPluginData: { namespace, keys } }: never) =>
          host.page
            .every()
            .filter((n) => (keys as string[]).some((key) => n.getSharedPluginData(namespace, key)))
            .map((n) => n.seen),
      },
      'the page',
    );
    const api = {
      mixed: Symbol('mixed'),
      currentPage: page,
      viewport: strict({ center: { x: 1000, y: 500 } }, 'figma.viewport'),
      clientStorage: strict(
        {
          getAsync: async (key: string) => host.stored.get(key),
          setAsync: async (key: string, value: unknown) => void host.stored.set(key, structuredClone(value)),
          deleteAsync: async (key: string) => void host.stored.delete(key),
        },
        'figma.clientStorage',
      ),
      ui: strict(
        {
          postMessage: (m: never) => {
            host.posted.push(structuredClone(m));
            host.onPost?.(m);
          },
          set onmessage(handler: never) {
            host.onmessage = handler;
          },
        },
        'figma.ui',
      ),
      showUI: (html: string, options: object) => (host.shown = { html, ...options }),
      closePlugin: () => (host.closed = true),
      commitUndo: () => host.steps.push(host.state()),
      getLocalPaintStylesAsync: async () => [{ id: 'S:1', name: 'Brand', paints: [solid('#00ff00')] }],
      createNodeFromSvg: (svg: string) => {
        const { width, height, parts: found } = parts(svg);
        const frame = note(new Parent('FRAME'));
        [frame.width, frame.height] = [width, height];
        for (const part of found) {
          const vector = note(new Node('VECTOR'));
          if (part.fill !== 'none') vector.fills = [solid(part.fill, part.fillOpacity)];
          if (part.stroke !== 'none') vector.strokes = [solid(part.stroke)];
          frame.add(vector);
        }
        host.page.add(frame);
        return frame.seen;
      },
    };
    this.api = strict(api, 'figma') as never;
  }

  select(...chosen: Node[]) {
    this.selection = chosen;
  }
}
