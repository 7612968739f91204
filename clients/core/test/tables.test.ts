// The cases of clients/testdata, which the core in Go runs too.
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import rules from '../../react/src/cli/jsx/rules.json';
import { before, checkSVG, find, insert, type Form, type Icon, type Options } from '..';
import { creditOf } from '../credit';
import { Pace } from '../pace';
import { component } from '../react';

const table = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../testdata/${name}.json`, import.meta.url), 'utf8')) as never;

interface Named {
  text: string;
  icon: string;
  others?: string[];
}
interface References {
  packs: string[];
  find: { about: string; text: string; references: Named[] }[];
  before: { about: string; text: string; typed: { text: string; pack: string; name: string } | null }[];
}

test('references', () => {
  const t: References = table('reference');
  const packs = (key: string) => t.packs.includes(key);
  expect(t.find.length).toBeGreaterThan(20);
  for (const row of t.find) {
    const found = find(row.text, packs).map((r): Named => {
      const named = { text: row.text.slice(r.start, r.end), icon: `${r.pack}/${r.name}` };
      return r.others.length ? { ...named, others: r.others } : named;
    });
    expect(found, row.about).toEqual(row.references);
  }
  for (const row of t.before) {
    const p = before(row.text, packs);
    expect(p ? { text: row.text.slice(p.start), pack: p.pack, name: p.name } : null, row.about).toEqual(row.typed);
  }
});

interface Outputs {
  cdn: string;
  icons: {
    [name: string]: {
      pack: string;
      name: string;
      svg: string;
      license: string;
      metadata: { [name: string]: unknown; width: number; height: number; monochrome: boolean; recolored: boolean };
    };
  };
  rows: {
    about: string;
    icon: string;
    form: Form | 'auto' | '';
    language: string;
    color?: string;
    size?: number;
    separator?: string;
    prefix?: string;
    no_credit?: boolean;
    want: string;
  }[];
}

test('outputs', () => {
  const t: Outputs = table('output');
  expect(t.rows.length).toBeGreaterThan(20);
  for (const { about, form, language, icon: key, want, no_credit, ...rest } of t.rows) {
    const { metadata: m, ...a } = t.icons[key]!;
    const icon: Icon = { ...a, ...m, credit: creditOf(a.license, m.attribution, m.commercial_use) };
    const options: Options = { ...rest, cdn: t.cdn, credit: !no_credit, component };
    expect(insert(form, language, icon, options), about).toBe(want);
  }
});

type Moment = [ms: number, text: string];
interface Paces {
  rows: {
    about: string;
    keys: Moment[];
    requests: Moment[];
    shown: string[];
    answers?: { [text: string]: { after?: number; status?: number; retry_after?: number } };
  }[];
}

test('pace', () => {
  const t: Paces = table('pace');
  expect(t.rows.length).toBeGreaterThan(10);
  for (const row of t.rows) {
    const [requests, shown] = play(row);
    expect(requests, row.about).toEqual(row.requests);
    if (row.shown) expect(shown, row.about).toEqual(row.shown);
  }
});

/** Plays a row: the next event is a key, a response, or the start of a search. */
function play(row: Paces['rows'][number]): [Moment[], string[]] {
  const pace = new Pace();
  const requests: Moment[] = [];
  const shown: string[] = [];
  const events = row.keys.map(([at, text]) => ({ at, run: (): unknown => pace.type(at, text) }));
  const respond = (at: number, text: string) => {
    const { status = 200, retry_after: wait = 0 } = row.answers?.[text] ?? {};
    if (status === 429) pace.limited(at, wait * 1000);
    if (status === 200 && pace.answered(at, text)) shown.push(text);
  };
  for (;;) {
    events.sort((a, b) => a.at - b.at);
    const wake = pace.wake() ?? Infinity;
    const next = events[0];
    if (wake === Infinity && !next) return [requests, shown];
    if (next && next.at <= wake) {
      events.shift();
      next.run();
      continue;
    }
    const text = pace.due(wake)!;
    requests.push([wake, text]);
    const at = wake + (row.answers?.[text]?.after ?? 50);
    events.push({ at, run: () => respond(at, text) });
  }
}

test('the elements of an SVG are those of the copy-in command', () => {
  const accepted = (name: string) => {
    try {
      checkSVG(name === 'svg' ? '<svg/>' : `<svg><${name}/></svg>`);
      return true;
    } catch {
      return false;
    }
  };
  for (const name of rules.elements) expect(accepted(name), name).toBe(true);
  for (const name of [
    'script',
    'foreignObject',
    'a',
    'feImage',
    'iframe',
    'metadata',
    'html',
    'Svg',
    'x:script',
    'animateColor',
  ])
    expect(accepted(name), name).toBe(rules.elements.includes(name));
});

test('the core has at most 6 kB', async () => {
  const built = await build({
    entryPoints: [new URL('../index.ts', import.meta.url).pathname],
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    write: false,
  });
  expect(gzipSync(built.outputFiles[0]!.contents, { level: 9 }).length).toBeLessThanOrEqual(6 * 1024);
});
