// The plugin in Penpot's sandbox: it changes the document as ui.html asks.
import type { Board, Fill, Group, Penpot, Shape, Stroke } from '@penpot/plugin-types';
import { readInsert, Refused, type Insertion, type ToCode, type ToUI } from '../design/message';

declare const penpot: Penpot;

const namespace = 'iconedge';
const post = (m: ToUI) => penpot.ui.sendMessage(m);
const visible = (f: Fill) => (f.fillOpacity ?? 1) > 0 && !!(f.fillColor ?? f.fillColorGradient);
const inside = (s: Shape): Shape[] => ('children' in s ? s.children : []);
const all = (s: Shape): Shape[] => [s, ...inside(s).flatMap(all)];

/** Returns an object without the fields that are undefined, which Penpot refuses. */
const defined = <T extends object>(o: { [K in keyof T]: T[K] | undefined }): T =>
  Object.fromEntries(Object.entries(o).filter(([, value]) => value !== undefined)) as T;

const asFill = (s: Stroke): Fill =>
  defined<Fill>({
    fillColor: s.strokeColor,
    fillOpacity: s.strokeOpacity,
    fillColorGradient: s.strokeColorGradient,
    fillColorRefFile: s.strokeColorRefFile,
    fillColorRefId: s.strokeColorRefId,
  });

const asStroke = (f: Fill): Stroke =>
  defined<Stroke>({
    strokeColor: f.fillColor,
    strokeOpacity: f.fillOpacity,
    strokeColorGradient: f.fillColorGradient,
    strokeColorRefFile: f.fillColorRefFile,
    strokeColorRefId: f.fillColorRefId,
  });

/** Returns the first paint of a shape, of what is inside of it first. */
function lookOf(s: Shape): Fill | undefined {
  for (const child of inside(s)) {
    const look = lookOf(child);
    if (look) return look;
  }
  const fills = Array.isArray(s.fills) ? s.fills : [];
  return fills.find(visible) ?? s.strokes.map(asFill).find(visible);
}

/** The chosen library colour, or the colour if it is gone. */
function chosen(i: Insertion): Fill {
  const style = i.style ? penpot.library.local.colors.find((c) => c.id === i.style) : undefined;
  if (style) return style.asFill();
  return { fillColor: i.color.slice(0, 7), fillOpacity: parseInt(i.color.slice(7) || 'ff', 16) / 255 };
}

/** Paints the parts of an icon that were currentColor. Those that are translucent stay so. */
function paint(icon: Shape, i: Insertion, look: Fill): void {
  const marked = (color?: string) => !!color && (i.monochrome || color.toLowerCase() === i.marker);
  const opacity = (old?: number) => (look.fillOpacity ?? 1) * (old ?? 1);
  for (const s of all(icon)) {
    if (Array.isArray(s.fills) && s.fills.some((f) => marked(f.fillColor) && visible(f)))
      s.fills = s.fills.map((f) => (marked(f.fillColor) ? { ...look, fillOpacity: opacity(f.fillOpacity) } : f));
    if (s.strokes.some((k) => marked(k.strokeColor)))
      s.strokes = s.strokes.map((k) => {
        if (!marked(k.strokeColor)) return k;
        return { ...k, ...asStroke(look), strokeOpacity: opacity(k.strokeOpacity) };
      });
  }
}

/** Makes an icon, which takes the size, the place and the paint of a shape if one is given. */
function make(i: Insertion, made: Shape[], old?: Shape): void {
  const icon = penpot.createShapeFromSvg(i.svg);
  if (!icon) throw new Refused(`Penpot can't read the SVG of ${i.icon}.`);
  made.push(icon);
  paint(icon, i, (old && lookOf(old)) ?? chosen(i));
  const own = i.size ? i.size / icon.height : 1;
  const scale = old ? Math.min(old.width / icon.width, old.height / icon.height) : own;
  icon.resize(icon.width * scale, icon.height * scale);
  const { x, y } = old?.center ?? penpot.viewport.center;
  const board = penpot.createBoard();
  made.push(board);
  board.name = i.icon;
  board.fills = [];
  board.setSharedPluginData(namespace, 'credit', i.credit);
  board.setSharedPluginData(namespace, 'icon', i.icon);
  if (old?.parent) (old.parent as Board | Group).insertChild(old.parentIndex, board);
  board.resize(old?.width ?? icon.width, old?.height ?? icon.height);
  board.x = old ? x - board.width / 2 : Math.round(x - board.width / 2);
  board.y = old ? y - board.height / 2 : Math.round(y - board.height / 2);
  icon.x = board.x + (board.width - icon.width) / 2;
  icon.y = board.y + (board.height - icon.height) / 2;
  board.appendChild(icon);
  if (old?.rotation) board.rotation = old.rotation;
}

const replaceable = (s: Shape) => s.width > 0 && s.height > 0 && (!s.parent || 'insertChild' in s.parent);

/** Inserts an icon, as one step of undo. If that fails, the document is as before. */
function insert(i: Insertion): void {
  const old = i.replace ? penpot.selection.filter(replaceable) : [];
  const made: Shape[] = [];
  const step = penpot.history.undoBlockBegin();
  try {
    if (!old.length) make(i, made);
    for (const shape of old) make(i, made, shape);
    for (const shape of old) shape.remove();
    const boards = made.filter((s) => s.type === 'board');
    penpot.selection = boards;
    post({ type: 'inserted', icon: i.icon, count: boards.length });
  } catch (error) {
    for (const shape of made.reverse()) shape.remove();
    throw error;
  } finally {
    penpot.history.undoBlockFinish(step);
  }
}

function credits(): string[] {
  const shapes = penpot.currentPage?.findShapes() ?? [];
  const lines = shapes.flatMap((s) => {
    const credit = s.getSharedPluginData(namespace, 'credit');
    return credit ? [`${s.getSharedPluginData(namespace, 'icon') || s.name}: ${credit}`] : [];
  });
  return [...new Set(lines)].sort();
}

/** Reads a stored value; nothing, if it is no JSON. */
function stored(key: string): never | undefined {
  try {
    return (JSON.parse(penpot.localStorage.getItem(key)) ?? undefined) as never;
  } catch {
    return;
  }
}

function start(): void {
  const styles = penpot.library.local.colors.map(({ id, name }) => ({ id, name }));
  post({ type: 'start', settings: stored('settings'), secret: stored('secret'), styles, theme: penpot.theme });
}

function run(m: ToCode): void {
  if (m.type === 'ready') start();
  else if (m.type === 'insert') insert(readInsert({ ...m }));
  else if (m.type === 'credits') post({ type: 'credits', credits: credits() });
  else if (m.type === 'close') penpot.closePlugin();
  else if (m.type === 'save') {
    penpot.localStorage.setItem('settings', JSON.stringify(m.settings));
    if (m.secret) penpot.localStorage.setItem('secret', JSON.stringify(m.secret));
    else penpot.localStorage.removeItem('secret');
  }
}

penpot.ui.open('Iconedge', 'ui.html', { width: 400, height: 640 });
penpot.on('themechange', (theme) => post({ type: 'theme', theme }));
penpot.ui.onMessage<ToCode>((m) => {
  try {
    run(m);
  } catch (error) {
    const other = "The icon can't be inserted here; select something else, or nothing.";
    post({ type: 'failed', says: error instanceof Refused ? error.message : other });
  }
});
