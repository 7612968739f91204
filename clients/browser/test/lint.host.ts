import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';

test('the linter of web-ext finds nothing', () => {
  const linter = new URL('../../node_modules/.bin/addons-linter', import.meta.url).pathname;
  const extension = new URL('../build/firefox', import.meta.url).pathname;
  const found = JSON.parse(execFileSync(linter, ['--output=json', extension]).toString()) as {
    [name: string]: unknown;
  };
  expect([found.errors, found.warnings, found.notices]).toEqual([[], [], []]);
});
