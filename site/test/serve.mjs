// Starts the program over a published library, and a browser.
import { spawn, execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { chromium } from 'playwright-core';
import { writeLibrary } from './library.mjs';

const program = resolve(process.env.ICONEDGE ?? '../iconedge');
// The shell has Chromium's engine and network stack without its windows, and takes half of the processor time.
const browsers = process.env.ICONEDGE_BROWSER ? [process.env.ICONEDGE_BROWSER]
  : ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Publishes the library, and runs origin and edge over it. With ICONEDGE_SITE the address of a running one is used. */
export async function serve(...flags) {
  const dir = mkdtempSync(join(tmpdir(), 'iconedge-site-'));
  writeLibrary(join(dir, 'library'));
  execFileSync(program, ['publish', '--store', 'dir:' + join(dir, 'store'), join(dir, 'library')], { stdio: ['ignore', 'ignore', 'inherit'] });
  return run(dir, ...flags);
}

export async function run(dir, ...flags) {
  const site = await start(['run', '--data', dir, ...flags], /name list ready/);
  return {
    ...site, dir, program,
    async stop() {
      await site.end();
      rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

const running = new Set();
process.on('exit', () => running.forEach((child) => child.kill()));

/** Starts a command of the program on free ports, and waits until its log says that it is ready. */
export async function start(args, ready) {
  const child = spawn(program, [...args, '--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0'], { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  const address = (of) => new RegExp(`msg=listening address=(\\S+) for=${of}`).exec(log)?.[1];
  await new Promise((ok, no) => {
    child.stderr.on('data', (chunk) => {
      log += chunk;
      if (address('public') && address('admin') && ready.test(log)) ok();
    });
    child.on('exit', (code) => no(new Error(`the program ended with ${code}: ${log}`)));
  });
  // A test that fails before it ends its processes must not keep the others from ending.
  running.add(child);
  for (const of of [child, child.stderr]) of.unref();
  return {
    base: 'http://' + address('public'), admin: 'http://' + address('admin'),
    async end() {
      running.delete(child);
      child.ref();
      child.removeAllListeners('exit');
      if (child.exitCode !== null || child.signalCode) return;
      const ended = new Promise((done) => child.on('exit', done));
      child.kill();
      await ended;
    },
  };
}

/** Only a broken page takes so long: a busy machine may stall for many seconds. In milliseconds. */
export const longest = 240_000;

export async function browse() {
  const executablePath = browsers.find(existsSync);
  if (!executablePath) throw new Error(`${browsers}: not installed; as root, \`make browser\` installs one`);
  return chromium.launch({ executablePath, timeout: longest, args: ['--no-sandbox', '--disable-quic', '--disable-component-update'] });
}

/** The rules of html-validate for pages. */
export const markup = { extends: ['html-validate:recommended'], rules: { 'long-title': 'off', 'no-trailing-whitespace': 'off', 'attribute-boolean-style': 'off', 'no-inline-style': 'error' } };
