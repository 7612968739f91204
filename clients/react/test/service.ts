import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    edge: string;
  }
}

const repository = resolve(import.meta.dirname, '../../..');

/** Builds the service (or uses the program in ICONEDGE) and serves the icons of test/library during the tests. */
export default async function setup(project: TestProject) {
  const home = mkdtempSync(join(tmpdir(), 'iconedge-react-'));
  const program = process.env.ICONEDGE ?? join(home, 'iconedge');
  if (!process.env.ICONEDGE)
    execFileSync('go', ['build', '-o', program, './cmd/iconedge'], { cwd: repository, stdio: 'inherit' });
  const library = join(import.meta.dirname, 'library');
  execFileSync(program, ['publish', '--store', `dir:${home}/store`, library], { stdio: 'pipe' });
  const limits = ['--limit', 'icon=100000/1m', '--limit', 'packs=100000/1m'];
  const listen = ['--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0'];
  const service = spawn(program, ['run', '--data', home, ...listen, ...limits], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  for await (const line of createInterface({ input: service.stderr })) {
    const address = /msg=listening address=(\S+) for=public/.exec(line)?.[1];
    if (address) {
      project.provide('edge', `http://${address}`);
      break;
    }
  }
  service.stderr.resume();
  return async () => {
    const ended = once(service, 'exit');
    service.kill();
    await ended; // otherwise it might write while its folder is removed
    rmSync(home, { recursive: true, force: true });
  };
}
