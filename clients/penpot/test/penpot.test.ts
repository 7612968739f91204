import { beforeEach, expect, test } from 'vitest';
import { flag, hostile, message, run } from '../../design/test/strict';
import { Host, Parent, Shape } from './fake';
import manifest from '../manifest.json';

let penpot: Host;
let code: string;
beforeEach(async () => {
  penpot = new Host(manifest.permissions);
  code = await run('penpot/plugin.ts', { penpot: penpot.api });
});

const last = () => penpot.posted.at(-1);
const board = () => penpot.root.nodes.at(-1) as Parent;
const icon = () => board().nodes[0] as Parent;

test('opens the page of the manifest, whose code Penpot accepts', () => {
  expect(penpot.opened.slice(0, 2)).toEqual(['Iconedge', 'ui.html']);
  expect(code).not.toMatch(/<!--|-->|\bimport\s*\(/); // SES refuses them
});

test('inserts at the middle of the view: name, size, colour, credit, selection and one step of undo', () => {
  penpot.send(message());
  expect(last()).toEqual({ type: 'inserted', icon: 'mdi/home', count: 1 });
  expect(penpot.root.nodes).toHaveLength(1);
  expect(board()).toMatchObject({ type: 'board', name: 'mdi/home', width: 48, height: 48, x: 976, y: 476, fills: [] });
  expect(board().getSharedPluginData('iconedge', 'credit')).toBe('license Apache-2.0; attribution: Pictogrammers');
  expect(icon()).toMatchObject({ x: 976, y: 476, width: 48, height: 48 });
  expect(icon().nodes.map((n) => [n.fills, n.strokes])).toEqual([
    [[{ fillColor: '#ff0000', fillOpacity: 1 }], []],
    [[{ fillColor: '#ff0000', fillOpacity: 0.5 }], []],
    [[], [{ strokeColor: '#ff0000', strokeOpacity: 1, strokeWidth: 2 }]],
  ]);
  expect(penpot.selection).toEqual([board()]);
  expect(penpot.steps).toEqual([penpot.state()]);
});

test('a colour of the library paints the parts that are currentColor, and no other', () => {
  penpot.send(message({ svg: flag, style: 'c-1', size: 0 }));
  expect(icon().nodes.map((n) => n.fills)).toEqual([
    [{ fillColor: '#FF0000', fillOpacity: 1 }],
    [{ fillColor: '#00ff00', fillOpacity: 1, fillColorRefId: 'c-1', fillColorRefFile: 'f' }],
  ]);
});

test('replaces the selection, whose size, place and paint stay', () => {
  const [below, old, above] = [new Shape('text'), new Shape('rectangle'), new Shape('text')];
  const parent = new Parent('board');
  penpot.root.add(parent.add(below, old, above));
  Object.assign(old, { x: 10, y: 20, width: 60, height: 30, rotation: 45 });
  old.fills = [{ fillColor: '#0000ff', fillColorRefId: 'x' }];
  penpot.selection = [old];
  penpot.send(message());
  const made = parent.nodes[1] as Parent;
  expect(parent.nodes).toEqual([below, made, above]);
  expect(made).toMatchObject({ name: 'mdi/home', x: 10, y: 20, width: 60, height: 30, rotation: 45 });
  const [group] = made.nodes as [Parent];
  expect(group).toMatchObject({ x: 25, y: 20, width: 30, height: 30 });
  expect(group.nodes[0]!.fills).toEqual([{ fillColor: '#0000ff', fillColorRefId: 'x', fillOpacity: 1 }]);
  expect(group.nodes[2]!.strokes).toMatchObject([{ strokeColor: '#0000ff', strokeColorRefId: 'x' }]);
  expect(penpot.selection).toEqual([made]);
  expect(penpot.steps).toHaveLength(1);
});

test('where nothing can be inserted, the document stays as it was', () => {
  const [free, old, copy] = [new Shape('rectangle'), new Shape('path'), new Parent('group')];
  penpot.root.add(free, copy.add(old));
  copy.locked = true;
  penpot.selection = [free, old];
  const before = penpot.state();
  penpot.send(message());
  expect(last()).toEqual({ type: 'failed', says: expect.stringContaining("can't be inserted here") as string });
  expect(penpot.state()).toBe(before);
  penpot.selection = [];
  penpot.send(message({ svg: flag.replace('width="32"', 'width="0"') }));
  expect(last()).toMatchObject({ type: 'failed' });
  expect(penpot.state()).toBe(before);
});

test.each(hostile)('refuses %s', (_, more, words) => {
  penpot.send(message(more));
  expect(last()).toEqual({ type: 'failed', says: expect.stringContaining(words) as string });
  expect(penpot.root.nodes).toEqual([]);
});

test('the list has each icon once, sorted', () => {
  penpot.send(message());
  for (let i = 0; i < 2; i++) penpot.send(message({ pack: 'a', replace: false, credit: 'license MIT' }));
  penpot.send({ type: 'credits' });
  const credits = ['a/home: license MIT', 'mdi/home: license Apache-2.0; attribution: Pictogrammers'];
  expect(last()).toEqual({ type: 'credits', credits });
});

test('stores settings and token, deletes the token, follows the theme, and closes', () => {
  penpot.send({ type: 'ready' });
  const empty = { type: 'start', settings: undefined, secret: undefined, theme: 'dark' };
  expect(last()).toEqual({ ...empty, styles: [{ id: 'c-1', name: 'Brand' }] });
  penpot.send({ type: 'save', settings: { size: 3 }, secret: { token: 't', origin: 'o' } });
  penpot.send({ type: 'ready' });
  expect(last()).toMatchObject({ settings: { size: 3 }, secret: { token: 't', origin: 'o' } });
  penpot.send({ type: 'save', settings: {}, secret: undefined });
  expect([...penpot.stored.keys()]).toEqual(['settings']);
  penpot.listeners.get('themechange')!('light' as never);
  expect(last()).toEqual({ type: 'theme', theme: 'light' });
  penpot.send({ type: 'close' });
  expect(penpot.closed).toBe(true);
});
