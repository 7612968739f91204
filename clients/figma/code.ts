// The plugin in Figma's sandbox: it changes the document as ui.html asks.
import type {
  BaseNode,
  ChildrenMixin,
  FrameNode,
  MinimalFillsMixin,
  MinimalStrokesMixin,
  Paint,
  PluginAPI,
  RGB,
  SceneNode,
} from '@figma/plugin-typings/plugin-api-standalone';
import { readInsert, Refused, type Insertion, type ToCode, type ToUI } from '../design/message';

declare const figma: PluginAPI;
declare const __html__: string;

const namespace = 'iconedge';

/** What an icon is painted with: paints, or the style that they come from. */
interface Look {
  paints: readonly Paint[];
  style: string;
}

type Painted = SceneNode & MinimalFillsMixin & MinimalStrokesMixin;

const post = (m: ToUI) => figma.ui.postMessage(m);
const visible = (p: Paint) => p.visible !== false && (p.type === 'SOLID' || p.type.startsWith('GRADIENT'));
const isPainted = (n: SceneNode): n is Painted => 'fills' in n && 'strokes' in n && 'setFillStyleIdAsync' in n;

/** Returns the first paint of a node, of what is inside of it first. */
function lookOf(node: SceneNode): Look | undefined {
  for (const child of 'children' in node ? node.children : []) {
    const look = lookOf(child);
    if (look) return look;
  }
  if (!isPainted(node)) return;
  const style = (id: string | typeof figma.mixed) => (typeof id === 'string' ? id : '');
  if (node.fills !== figma.mixed && node.fills.some(visible))
    return { paints: node.fills, style: style(node.fillStyleId) };
  if (node.strokes.some(visible)) return { paints: node.strokes, style: style(node.strokeStyleId) };
  return;
}

function chosen(i: Insertion): Look {
  const [r, g, b, a] = [1, 3, 5, 7].map((at) => parseInt(i.color.slice(at, at + 2) || 'ff', 16) / 255);
  return { paints: [{ type: 'SOLID', color: { r: r!, g: g!, b: b! }, opacity: a! }], style: i.style };
}

/** Paints the parts of an icon that were currentColor. Those that are translucent stay so. */
async function paint(frame: FrameNode, i: Insertion, look: Look): Promise<void> {
  const marked = (p: Paint) => p.type === 'SOLID' && (i.monochrome || toHex(p.color) === i.marker);
  const blended = (old: readonly Paint[]) => {
    const opacity = old.find(marked)?.opacity ?? 1;
    return look.paints.map((p) => ({ ...p, opacity: (p.opacity ?? 1) * opacity }));
  };
  for (const node of frame.findAll(isPainted) as Painted[]) {
    const { fills, strokes } = node;
    if (fills !== figma.mixed && fills.some(marked)) {
      node.fills = blended(fills);
      if (look.style && fills.every((p) => (p.opacity ?? 1) === 1)) await node.setFillStyleIdAsync(look.style);
    }
    if (strokes.some(marked)) {
      node.strokes = blended(strokes);
      if (look.style && strokes.every((p) => (p.opacity ?? 1) === 1)) await node.setStrokeStyleIdAsync(look.style);
    }
  }
}

const toHex = ({ r, g, b }: RGB) =>
  '#' +
  [r, g, b]
    .map((part) =>
      Math.round(part * 255)
        .toString(16)
        .padStart(2, '0'),
    )
    .join('');

/** Makes an icon, which takes the size, the place and the paint of a node if one is given. */
async function make(i: Insertion, made: FrameNode[], old?: SceneNode): Promise<void> {
  const frame = figma.createNodeFromSvg(i.svg);
  made.push(frame);
  frame.name = i.icon;
  frame.setSharedPluginData(namespace, 'credit', i.credit);
  frame.setSharedPluginData(namespace, 'icon', i.icon);
  await paint(frame, i, (old && lookOf(old)) ?? (await withPaints(chosen(i))));
  if (old) return place(frame, old);
  if (i.size) frame.rescale(i.size / frame.height);
  frame.x = Math.round(figma.viewport.center.x - frame.width / 2);
  frame.y = Math.round(figma.viewport.center.y - frame.height / 2);
}

/** Looks up the paints of a chosen style. One that is gone leaves the colour. */
async function withPaints(look: Look): Promise<Look> {
  const style = look.style && (await figma.getLocalPaintStylesAsync()).find((s) => s.id === look.style);
  return style ? { paints: style.paints, style: style.id } : { ...look, style: '' };
}

function place(frame: FrameNode, old: SceneNode): void {
  const parent = old.parent as BaseNode & ChildrenMixin;
  parent.insertChild(parent.children.indexOf(old), frame);
  const [width, height] = [old.width, old.height];
  frame.rescale(Math.max(0.01, Math.min(width / frame.width, height / frame.height)));
  const [x, y] = [(width - frame.width) / 2, (height - frame.height) / 2];
  if (Math.abs(x) > 0.01 || Math.abs(y) > 0.01) {
    frame.resizeWithoutConstraints(width, height);
    for (const child of frame.children) [child.x, child.y] = [child.x + x, child.y + y];
  }
  if ('layoutMode' in parent && parent.layoutMode !== 'NONE' && 'layoutPositioning' in old)
    frame.layoutPositioning = old.layoutPositioning;
  if ('constraints' in old) frame.constraints = old.constraints;
  frame.relativeTransform = old.relativeTransform;
}

const replaceable = (n: SceneNode) => n.width > 0 && n.height > 0 && !!n.parent && 'insertChild' in n.parent;

/** Inserts an icon, as one step of undo. If that fails, the document is as before. */
async function insert(i: Insertion): Promise<void> {
  const old = i.replace ? figma.currentPage.selection.filter(replaceable) : [];
  const made: FrameNode[] = [];
  try {
    if (!old.length) await make(i, made);
    for (const node of old) await make(i, made, node);
  } catch (error) {
    for (const frame of made) frame.remove();
    throw error;
  }
  for (const node of old) node.remove();
  figma.currentPage.selection = made;
  figma.commitUndo();
  post({ type: 'inserted', icon: i.icon, count: made.length });
}

function credits(): string[] {
  const keys = { namespace, keys: ['credit'] };
  const nodes = figma.currentPage.findAllWithCriteria({ sharedPluginData: keys });
  const lines = nodes.map((n) => {
    const icon = n.getSharedPluginData(namespace, 'icon') || n.name;
    return `${icon}: ${n.getSharedPluginData(namespace, 'credit')}`;
  });
  return [...new Set(lines)].sort();
}

async function start(): Promise<void> {
  const { clientStorage } = figma;
  const [settings, secret] = await Promise.all([clientStorage.getAsync('settings'), clientStorage.getAsync('secret')]);
  const styles = (await figma.getLocalPaintStylesAsync()).map(({ id, name }) => ({ id, name }));
  post({ type: 'start', settings, secret, styles });
}

async function run(m: ToCode): Promise<void> {
  if (m.type === 'ready') await start();
  else if (m.type === 'insert') await insert(readInsert({ ...m }));
  else if (m.type === 'credits') post({ type: 'credits', credits: credits() });
  else if (m.type === 'close') figma.closePlugin();
  else if (m.type === 'save') {
    await figma.clientStorage.setAsync('settings', m.settings);
    if (m.secret) await figma.clientStorage.setAsync('secret', m.secret);
    else await figma.clientStorage.deleteAsync('secret');
  }
}

figma.showUI(__html__, { width: 400, height: 600, themeColors: true });
figma.ui.onmessage = async (m: ToCode) => {
  try {
    await run(m);
  } catch (error) {
    const other = "The icon can't be inserted here; select something else, or nothing.";
    post({ type: 'failed', says: error instanceof Refused ? error.message : other });
  }
};
