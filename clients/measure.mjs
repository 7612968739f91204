// Measures the packages of make plugins: their sizes, and how long each plugin takes to start. It writes the table of
// docs/reference/plugins.md. ICONEDGE is the program, which serves a small library during the measurement.
import { Buffer } from 'node:buffer';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { launch } from 'puppeteer-core';

const here = (path) => new URL(path, import.meta.url).pathname;
const dist = here('plugins/dist/');
const times = 7;
const home = mkdtempSync(join(tmpdir(), 'iconedge-measure-'));
const client = dist + 'iconedge-client';
const has = (program) => !!execFileSync('sh', ['-c', `command -v ${program} || true`]).toString();

const size = (path) =>
  statSync(path).isFile() ? statSync(path).size : readdirSync(path).reduce((n, name) => n + size(join(path, name)), 0);
const kB = (n) => (n < 1e6 ? `${(n / 1000).toFixed(0)} kB` : `${(n / 1e6).toFixed(1)} MB`);

/** Returns the median and the longest time in ms of several runs. */
async function time(run) {
  const all = [];
  for (let i = 0; i < times; i++) {
    const began = performance.now();
    await run(i);
    all.push(performance.now() - began);
  }
  all.sort((a, b) => a - b);
  return `${all[times >> 1].toFixed(0)} (${all.at(-1).toFixed(0)})`;
}

async function serve() {
  execFileSync(process.env.ICONEDGE, ['publish', '--store', `dir:${home}/store`, here('react/test/library')], {
    stdio: 'ignore',
  });
  const flags = ['--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0', '--limit', 'search=100000/1m'];
  const service = spawn(process.env.ICONEDGE, ['run', '--data', home, ...flags], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  for await (const line of createInterface({ input: service.stderr })) {
    const address = /msg=listening address=(\S+) for=public/.exec(line)?.[1];
    if (address) return { service, base: `http://${address}` };
  }
  throw new Error('the service did not start');
}

/** The commands of iconedge-client. Each run has an empty cache. */
async function commands(base) {
  const env = (n) => ({ ...process.env, ICONEDGE_API: base, XDG_CACHE_HOME: join(home, `cache-${n}`) });
  const run = (name, args, more = {}) =>
    time((i) =>
      execFileSync(client, args, { env: { ...env(name + i), ...more }, stdio: ['ignore', 'ignore', 'pipe'] }),
    );
  return [
    ['`iconedge-client search home`', await run('search', ['search', 'home'])],
    ['`iconedge-client get mdi/home`', await run('get', ['get', 'mdi/home'])],
    ['`launcher rofi`: rows with icons', await run('rofi', ['launcher', 'rofi', 'home'], { ROFI_RETV: '2' })],
    ['`launcher alfred`: rows with icons', await run('alfred', ['launcher', 'alfred', '--', 'home'])],
    ['`lsp`: the answer to `initialize`', await time(() => initialize(env('lsp')))],
  ];
}

function initialize(env) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { capabilities: {} } });
  const server = spawn(client, ['lsp'], { env, stdio: ['pipe', 'pipe', 'ignore'] });
  server.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  return new Promise((done) => server.stdout.once('data', done)).then(() => server.kill());
}

/** GNOME's call on a private bus, from dbus-send to the answer: with the start of the service, and with it running. */
async function desktop(base) {
  if (!has('dbus-run-session')) return [];
  mkdirSync(join(home, 'share/dbus-1/services'), { recursive: true });
  writeFileSync(
    join(home, 'share/dbus-1/services/org.iconedge.Icons.service'),
    `[D-BUS Service]\nName=org.iconedge.Icons\nExec=${client} launcher dbus\n`,
  );
  const call = (words) =>
    `dbus-send --session --print-reply --dest=org.iconedge.Icons /org/iconedge/Icons org.gnome.Shell.SearchProvider2.GetInitialResultSet array:string:${words} > /dev/null`;
  const clock = 'date +%s%N';
  const script = `a=$(${clock}); ${call('icon,home')}; b=$(${clock}); ${call('icon,bar')}; c=$(${clock}); echo $((b-a)) $((c-b))`;
  const env = { ...process.env, ICONEDGE_API: base, XDG_DATA_DIRS: join(home, 'share') };
  const all = [[], []];
  for (let i = 0; i < times; i++) {
    const out = execFileSync('dbus-run-session', ['--', 'sh', '-c', script], {
      env: { ...env, XDG_CACHE_HOME: join(home, `cache-dbus${i}`) },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    for (const [n, ns] of out.toString().trim().split(' ').entries()) all[n].push(Number(ns) / 1e6);
  }
  const rows = [
    '`launcher dbus`: the first answer, with the start of the service',
    '`launcher dbus`: an answer of the running service',
  ];
  return rows.map((name, n) => {
    const sorted = all[n].sort((a, b) => a - b);
    return [name, `${sorted[times >> 1].toFixed(0)} (${sorted.at(-1).toFixed(0)})`];
  });
}

/** The pages, from the address to a search field with the focus. */
async function pages() {
  const executablePath = execFileSync('sh', ['-c', 'command -v chromium chromium-browser google-chrome | head -1']);
  const browser = await launch({
    executablePath: executablePath.toString().trim(),
    pipe: true,
    enableExtensions: [here('browser/build/chromium')],
    args: ['--no-sandbox'],
  });
  const worker = await browser.waitForTarget((t) => t.type() === 'service_worker' && t.url().endsWith('background.js'));
  const page = await browser.newPage();
  const open = (url) =>
    time(async () => {
      await page.goto(url);
      await page.waitForSelector('#q:focus');
    });
  const rows = [
    ['browsers: the popup can be typed into', await open(new URL('popup.html', worker.url()).href)],
    ['Figma: ui.html can be typed into', await open(`file://${here('figma/build/ui.html')}`)],
    ['Penpot: ui.html can be typed into', await open(`file://${here('penpot/build/ui.html')}`)],
  ];
  await browser.close();
  return rows;
}

const { service, base } = await serve();
try {
  await pause(500);
  const sizes = readdirSync(dist)
    .sort()
    .map((name) => `| \`${name}\` | ${kB(size(dist + name))} |`);
  const starts = [...(await commands(base)), ...(await desktop(base)), ...(await pages())];
  const table = [
    '| package | size |',
    '|---|---|',
    ...sizes,
    '',
    '| start | ms: median (longest) of ' + times + ' |',
    '|---|---|',
    ...starts.map((row) => `| ${row.join(' | ')} |`),
  ].join('\n');
  const path = here('../docs/reference/plugins.md');
  const text = readFileSync(path, 'utf8');
  const marks = /(<!-- measured -->\n)[^]*?(\n<!-- end of measured -->)/;
  if (!marks.test(text)) throw new Error(path + ' has no place for the table');
  writeFileSync(
    path,
    text.replace(marks, (_, begin, end) => begin + table + end),
  );
  console.log(table);
} finally {
  service.kill();
  await pause(500);
  rmSync(home, { recursive: true, force: true });
}
