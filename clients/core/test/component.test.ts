import { expect, test } from 'vitest';
import cases from '../../testdata/component.json';
import { component, icons, written } from '../component';

test.each(cases.components)('$word', ({ word, icon }) => {
  const found = component(word);
  const first = found && icons(found)[0];
  expect(first ? `${first.pack}/${first.name}` : null).toBe(icon);
});

test.each(cases.written)('$word completed by $icon', ({ word, icon, component: want }) => {
  const [pack = '', name = ''] = icon.split('/');
  expect(written(component(word)!, { pack, name }) ?? null).toBe(want);
});
