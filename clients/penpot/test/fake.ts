// A document of Penpot with what the plugin may use of it, as the typings say; anything else throws.
import type { Board, Fill, Penpot, Shape as Documented, Stroke } from '@penpot/plugin-types';
import { parts, strict } from '../../design/test/strict';

type Used = Pick<Documented, 'id' | 'name' | 'x' | 'y' | 'width' | 'height' | 'center' | 'rotation' | 'strokes'> &
  Pick<Documented, 'resize' | 'remove' | 'getSharedPluginData' | 'setSharedPluginData' | 'parentIndex'>;

let ids = 0;
const shapes = new Map<string, Shape>();

export class Shape implements Used {
  readonly id = `id-${++ids}`;
  name = '';
  x = 0;
  y = 0;
  width = 100;
  height = 100;
  rotation = 0;
  fills: Fill[] | 'mixed' = [];
  strokes: Stroke[] = [];
  parent: Parent | null = null;
  readonly data = new Map<string, string>();
  readonly seen: this = strict(this, 'the shape');

  constructor(readonly type: string) {
    shapes.set(this.id, this);
  }
  get center() {
    return { x: this.x + this.width / 2, y: this.y + this.height / 2 };
  }
  get parentIndex() {
    return this.parent!.nodes.findIndex((n) => n.id === this.id);
  }
  resize(width: number, height: number) {
    if (!(width >= 0.01 && height >= 0.01)) throw new Error('a side must be at least 0.01');
    [this.width, this.height] = [width, height];
  }
  getSharedPluginData(namespace: string, key: string) {
    return this.data.get(`${namespace}/${key}`) ?? '';
  }
  setSharedPluginData(namespace: string, key: string, value: string) {
    this.data.set(`${namespace}/${key}`, value);
  }
  remove() {
    this.parent?.detach(this);
    this.parent = null;
  }
}

/** A board or a group. */
export class Parent extends Shape {
  nodes: Shape[] = [];
  locked = false;

  get children() {
    return this.nodes.map((n) => n.seen);
  }
  add(...nodes: Shape[]) {
    for (const n of nodes) this.put(this.nodes.length, n);
    return this;
  }
  put(index: number, n: Shape) {
    n.remove();
    this.nodes.splice(index, 0, n);
    n.parent = this.seen;
  }
  detach(n: Shape) {
    this.nodes = this.nodes.filter((other) => other.id !== n.id);
  }
  insertChild(index: number, child: { id: string }) {
    if (this.locked) throw new Error('cannot insert into a component copy');
    this.put(index, shapes.get(child.id)!);
  }
  appendChild(child: { id: string }) {
    this.insertChild(this.nodes.length, child);
  }
  every(): Shape[] {
    return this.nodes.flatMap((n) => [n, ...(n instanceof Parent ? n.every() : [])]);
  }
}

/** Penpot with one page, for a plugin with permissions. */
export class Host {
  readonly root = new Parent('board');
  readonly posted: { type: string; [name: string]: unknown }[] = [];
  readonly stored = new Map<string, string>();
  readonly listeners = new Map<string, (event: never) => void>();
  readonly steps: string[] = []; // the page at the end of each block of undo
  selection: Shape[] = [];
  opened: unknown[] = [];
  closed = false;
  onPost: ((m: unknown) => void) | undefined;
  send: (m: unknown) => void = () => undefined;
  #blocks = 0;

  state = (): string =>
    JSON.stringify(this.root.every(), ['id', 'name', 'x', 'y', 'width', 'height', 'fills', 'fillColor']);

  readonly api: Penpot;

  constructor(permissions: string[]) {
    const need = (permission: string) => {
      if (!permissions.includes(permission)) throw new Error(`the plugin has no permission ${permission}`);
    };
    const write = <A extends unknown[], R>(f: (...args: A) => R) => {
      return (...args: A): R => {
        need('content:write');
        if (!this.#blocks) throw new Error('a change outside of a block of undo');
        return f(...args);
      };
    };
    const store = <A extends unknown[], R>(f: (...args: A) => R) => {
      return (...args: A): R => {
        need('allow:localstorage');
        return f(...args);
      };
    };
    const color = strict(
      {
        id: 'c-1',
        name: 'Brand',
        asFill: () => ({ fillColor: '#00ff00', fillOpacity: 1, fillColorRefId: 'c-1', fillColorRefFile: 'f' }),
      },
      'the colour',
    );
    // eslint-disable-next-line @typescript-eslint/no-this-alias
    const host = this;
    const api = {
      theme: 'dark',
      viewport: strict({ center: { x: 1000, y: 500 } }, 'penpot.viewport'),
      ui: strict(
        {
          open: (...args: unknown[]) => (host.opened = args),
          sendMessage: (m: never) => {
            host.posted.push(structuredClone(m));
            host.onPost?.(m);
          },
          onMessage: (f: (m: unknown) => void) => (host.send = f),
        },
        'penpot.ui',
      ),
      on: (type: string, f: (event: never) => void) => {
        need('content:read');
        host.listeners.set(type, f);
        return Symbol();
      },
      closePlugin: () => (host.closed = true),
      history: strict(
        {
          undoBlockBegin: () => {
            host.#blocks++;
            return Symbol();
          },
          undoBlockFinish: () => {
            host.#blocks--;
            host.steps.push(host.state());
          },
        },
        'penpot.history',
      ),
      localStorage: strict(
        {
          getItem: store((key: string) => host.stored.get(key) ?? null),
          setItem: store((key: string, value: string) => void host.stored.set(key, value)),
          removeItem: store((key: string) => void host.stored.delete(key)),
        },
        'penpot.localStorage',
      ),
      get library() {
        need('library:read');
        return { local: strict({ colors: [color] }, 'the library') };
      },
      get selection() {
        need('content:read');
        return host.selection.map((s) => s.seen);
      },
      set selection(chosen: { id: string }[]) {
        host.selection = chosen.map((s) => shapes.get(s.id)!);
      },
      currentPage: strict({ findShapes: () => host.root.every().map((s) => s.seen) }, 'the page'),
      createBoard: write(() => {
        const board = new Parent('board');
        board.fills = [{ fillColor: '#FFFFFF' }];
        host.root.add(board);
        return board.seen as unknown as Board;
      }),
      createShapeFromSvg: write((svg: string) => {
        const { width, height, parts: found } = parts(svg);
        const group = new Parent('group');
        [group.width, group.height] = [width, height];
        for (const part of found) {
          const path = new Shape('path');
          if (part.fill !== 'none')
            path.fills = [{ fillColor: part.fill.toUpperCase(), fillOpacity: part.fillOpacity }];
          if (part.stroke !== 'none') path.strokes = [{ strokeColor: part.stroke, strokeWidth: 2 }];
          group.add(path);
        }
        host.root.add(group);
        return group.seen;
      }),
    };
    this.api = strict(api, 'penpot') as never;
  }
}
