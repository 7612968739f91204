import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { serve } from '../browser/harness';

const program = resolve(import.meta.dirname, '../../dist/cli.js');

/** The result of a call of the command. */
export interface Outcome {
  status: number;
  out: string;
  err: string;
}

/** A working folder, with the command beside it and without a terminal. */
export async function workshop() {
  const folder = await mkdtemp(join(tmpdir(), 'iconedge-react-'));
  const env = { PATH: process.env.PATH, HOME: folder };
  const run = (args: string[], more: Record<string, string> = {}) =>
    new Promise<Outcome>((done) => {
      execFile(
        process.execPath,
        [program, ...args],
        { cwd: folder, env: { ...env, ...more }, timeout: 240_000 },
        (error, out, err) => done({ status: error ? Number(error.code ?? -1) : 0, out, err }),
      ).stdin!.end();
    });
  const files = async (below = '') => {
    const entries = await readdir(join(folder, below), { recursive: true, withFileTypes: true }).catch(() => []);
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
      .sort();
  };
  return {
    folder,
    run,
    files,
    copyIn: (from: string, to: string) => cp(from, join(folder, to)),
    remove: () => rm(folder, { recursive: true }),
  };
}

/** An API with the test's response for each icon: an SVG, a status, or a whole response. */
export async function fakeAPI(
  icons: Record<
    string,
    { svg?: string; license?: string; attribution?: string; commercial?: boolean } | number | string
  >,
) {
  return serve((path, response) => {
    const [, pack, name] = /^\/api\/v1\/icon\/([^/]+)\/([^/?]+)$/.exec(path) ?? [];
    const icon = icons[`${pack}/${name}`] ?? 404;
    if (typeof icon === 'number') return response.writeHead(icon).end('<h1>no</h1>');
    if (typeof icon === 'string') return response.end(icon);
    const {
      svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M0 0"/></svg>',
      license = 'MIT',
      attribution = 'Me',
      commercial = true,
    } = icon;
    const metadata = {
      license: { spdx: license, title: license, url: 'https://example.org/' },
      attribution,
      commercial_use: commercial,
    };
    response.end(JSON.stringify({ pack, name, svg, license, metadata }));
  });
}
