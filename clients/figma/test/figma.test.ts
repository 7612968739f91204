import { beforeEach, expect, test } from 'vitest';
import { flag, hostile, message, run } from '../../design/test/strict';
import { Figma, Node, note, Parent, solid } from './fake';

let figma: Figma;
beforeEach(async () => {
  figma = new Figma();
  await run('figma/code.ts', { figma: figma.api, __html__: '<p>' });
});

const last = () => figma.posted.at(-1);
const frame = () => figma.page.nodes.at(-1) as Parent;

test('opens the page in the colours of Figma', () => {
  expect(figma.shown).toMatchObject({ html: '<p>', themeColors: true });
});

test('inserts at the middle of the view: name, size, colour, credit, selection and one step of undo', async () => {
  await figma.onmessage(message());
  expect(last()).toEqual({ type: 'inserted', icon: 'mdi/home', count: 1 });
  expect(frame()).toMatchObject({ type: 'FRAME', name: 'mdi/home', width: 48, height: 48, x: 976, y: 476 });
  expect(frame().getSharedPluginData('iconedge', 'credit')).toBe('license Apache-2.0; attribution: Pictogrammers');
  const [whole, half, line] = frame().nodes;
  expect(whole!.fills).toMatchObject([{ type: 'SOLID', opacity: 1, color: { r: 1, g: 0, b: 0 } }]);
  expect(half!.fills).toMatchObject([{ opacity: 0.5, color: { r: 1, g: 0, b: 0 } }]);
  expect(line).toMatchObject({ fills: [], strokes: [{ color: { r: 1, g: 0, b: 0 } }] });
  expect(figma.selection).toEqual([frame()]);
  expect(figma.steps).toEqual([figma.state()]);
});

test('a local style paints the parts that are currentColor, and no other', async () => {
  await figma.onmessage(message({ svg: flag, style: 'S:1', size: 0 }));
  expect(frame()).toMatchObject({ width: 32, height: 24 });
  const [red, own] = frame().nodes;
  expect(red).toMatchObject({ fills: [{ color: { r: 1, g: 0, b: 0 } }], styles: { fill: '' } });
  expect(own).toMatchObject({ fills: [{ color: { r: 0, g: 1, b: 0 } }], styles: { fill: 'S:1' } });
});

test('a style that is gone leaves the colour, which an icon of that colour does not lose', async () => {
  await figma.onmessage(message({ svg: flag, style: 'S:9', color: '#ff0000' }));
  expect(frame().nodes.map((n) => [n.fills[0], n.styles.fill])).toMatchObject(
    [0, 0].map(() => [{ color: { r: 1, g: 0, b: 0 } }, '']),
  );
});

test('replaces the selection, whose size, place and paint stay', async () => {
  const [below, old, above] = [note(new Node('TEXT')), note(new Node('RECTANGLE')), note(new Node('TEXT'))];
  const parent = note(new Parent('FRAME'));
  figma.page.add(parent.add(below, old, above));
  [old.width, old.height, old.fills] = [60, 30, [solid('#0000ff')]];
  old.relativeTransform = [
    [0, 1, 7],
    [-1, 0, 9],
  ];
  figma.select(old);
  await figma.onmessage(message());
  const made = parent.nodes[1] as Parent;
  expect(parent.nodes).toEqual([below, made, above]);
  expect(made).toMatchObject({ name: 'mdi/home', width: 60, height: 30, relativeTransform: old.relativeTransform });
  expect(made.nodes[0]).toMatchObject({ x: 15, y: 0, fills: [{ color: { r: 0, g: 0, b: 1 } }] });
  expect(made.nodes[2]!.strokes).toMatchObject([{ color: { r: 0, g: 0, b: 1 } }]);
  expect(figma.selection).toEqual([made]);
  expect(figma.steps).toHaveLength(1);
});

test('the style of a replaced icon stays; several are replaced in one step', async () => {
  const olds = [1, 2].map(() => note(new Parent('FRAME')).add(note(new Node('VECTOR'))));
  for (const old of olds) {
    old.nodes[0]!.fills = [solid('#00ff00')];
    old.nodes[0]!.styles.fill = 'S:7';
    figma.page.add(old);
  }
  figma.select(...olds);
  await figma.onmessage(message());
  expect(figma.page.nodes.map((n) => [n.name, (n as Parent).nodes[0]!.styles.fill])).toEqual(
    [1, 2].map(() => ['mdi/home', 'S:7']),
  );
  expect(last()).toMatchObject({ count: 2 });
  expect(figma.steps).toHaveLength(1);
});

test('replace: false leaves the selection alone', async () => {
  const old = note(new Node('RECTANGLE'));
  figma.page.add(old);
  figma.select(old);
  await figma.onmessage(message({ replace: false }));
  expect(figma.page.nodes).toEqual([old, frame()]);
});

test('where nothing can be inserted, the document stays as it was', async () => {
  const [free, old, instance] = [note(new Node('RECTANGLE')), note(new Node('VECTOR')), note(new Parent('INSTANCE'))];
  figma.page.add(free, instance.add(old));
  instance.locked = true;
  figma.select(free, old);
  const before = figma.state();
  await figma.onmessage(message());
  expect(last()).toEqual({ type: 'failed', says: expect.stringContaining("can't be inserted here") as string });
  expect(figma.state()).toBe(before);
  expect(figma.selection).toEqual([free, old]);
});

test.each(hostile)('refuses %s', async (_, more, words) => {
  await figma.onmessage(message(more));
  expect(last()).toEqual({ type: 'failed', says: expect.stringContaining(words) as string });
  expect(figma.page.nodes).toEqual([]);
  expect(figma.steps).toEqual([]);
});

test('a credit is one line; the list has each icon once, sorted', async () => {
  await figma.onmessage(message({ credit: 'license MIT;\u202e\n attribution: A' }));
  await figma.onmessage(message({ pack: 'a', replace: false }));
  await figma.onmessage(message({ pack: 'a', replace: false }));
  await figma.onmessage({ type: 'credits' });
  expect(last()).toEqual({
    type: 'credits',
    credits: ['a/home: license Apache-2.0; attribution: Pictogrammers', 'mdi/home: license MIT; attribution: A'],
  });
});

test('stores settings and token, deletes the token, and closes', async () => {
  await figma.onmessage({ type: 'save', settings: { size: 3 }, secret: { token: 't', origin: 'o' } });
  await figma.onmessage({ type: 'ready' });
  expect(last()).toEqual({
    type: 'start',
    settings: { size: 3 },
    secret: { token: 't', origin: 'o' },
    styles: [{ id: 'S:1', name: 'Brand' }],
  });
  await figma.onmessage({ type: 'save', settings: {}, secret: undefined });
  expect([...figma.stored.keys()]).toEqual(['settings']);
  await figma.onmessage({ type: 'close' });
  expect(figma.closed).toBe(true);
});
