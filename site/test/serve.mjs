// Starts the program over a published library, and a browser.
import { spawn, execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { chromium } from 'playwright-core';
import { writeLibrary } from './library.mjs';

const program = resolve(process.env.ICONEDGE ?? '../iconedge');
const browsers = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Publishes the library, and runs origin and edge over it. With ICONEDGE_SITE the address of a running one is used. */
export async function serve(...flags) {
  const dir = mkdtempSync(join(tmpdir(), 'iconedge-site-'));
  writeLibrary(join(dir, 'library'));
  execFileSync(program, ['publish', '--store', 'dir:' + join(dir, 'store'), join(dir, 'library')], { stdio: ['ignore', 'ignore', 'inherit'] });
  return run(dir, ...flags);
}

export async function run(dir, ...flags) {
  const args = ['run', '--data', dir, '--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0', ...flags];
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  const base = await new Promise((ok, no) => {
    child.stderr.on('data', (chunk) => {
      log += chunk;
      const address = /msg=listening address=(\S+) for=public/.exec(log);
      if (address && /name list ready/.test(log)) ok('http://' + address[1]);
    });
    child.on('exit', (code) => no(new Error(`the program ended with ${code}: ${log}`)));
  });
  return {
    base, dir, program,
    pause: () => child.kill('SIGSTOP'),
    async stop() {
      child.removeAllListeners('exit');
      const ended = new Promise((done) => child.on('exit', done));
      child.kill();
      await ended;
      rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

export async function browse() {
  const executablePath = browsers.find(existsSync);
  if (!executablePath) throw new Error('no Chromium on this machine: `make chromium` installs it as root');
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-quic', '--disable-component-update'] });
}
