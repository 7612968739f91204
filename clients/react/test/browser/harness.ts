import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { existsSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { build, type BuildOptions } from 'esbuild';
import { launch, type Browser, type Page } from 'puppeteer-core';

const root = resolve(import.meta.dirname, '../..');

/** The supported versions of React. */
export const reacts = ['18', '19'] as const;
export type ReactVersion = (typeof reacts)[number];

/** Bundles a file with one version of React and the built package. */
export async function bundle(entry: string, react: ReactVersion, options: BuildOptions = {}): Promise<string> {
  const suffix = react === '18' ? '18' : '';
  const { outputFiles } = await build({
    entryPoints: [resolve(root, entry)],
    bundle: true,
    write: false,
    format: 'iife',
    jsx: 'automatic',
    alias: {
      '@iconedge/react': resolve(root, 'dist/index.js'),
      react: resolve(root, `node_modules/react${suffix}`),
      'react-dom': resolve(root, `node_modules/react-dom${suffix}`),
    },
    define: { 'process.env.NODE_ENV': '"development"' },
    ...options,
  });
  return outputFiles![0]!.text;
}

/** A request to a server. */
export interface Asked {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
}

/** A server on a free port that records its requests. */
export async function serve(answer: (path: string, response: ServerResponse) => void) {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    asked.push({ method: request.method!, path: request.url!, headers: request.headers });
    answer(request.url!, response);
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { address, asked, close };
}

/** A CDN with the test's responses, by path. A function may delay a response. */
export async function fakeCDN(svgs: Record<string, string | number | ((response: ServerResponse) => void)>) {
  return serve((path, response) => {
    const svg = svgs[path] ?? 404;
    response.setHeader('Access-Control-Allow-Origin', '*');
    if (typeof svg === 'function') return svg(response);
    response.setHeader('Content-Type', 'image/svg+xml');
    response.statusCode = typeof svg === 'number' ? svg : 200;
    response.end(typeof svg === 'number' ? '' : svg);
  });
}

// The strictest policy of requirement R13, with the addresses of CDNs in connect-src.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src *; img-src 'self'";

/** A site that serves a page under a strict policy: a body, a style sheet, and a script. */
export async function site(script: string, body = '<div id="root"></div>') {
  const page =
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>icons</title><link rel="icon" href="/none.png">' +
    `<link rel="stylesheet" href="/page.css"><body>${body}<script src="/page.js"></script></body></html>`;
  return serve((path, response) => {
    const [type, text] =
      path === '/page.js'
        ? ['text/javascript', script]
        : path === '/page.css'
          ? ['text/css', 'body { margin: 0; color: #00f } svg { display: block }']
          : path === '/none.png'
            ? ['image/png', '']
            : ['text/html', page];
    response.setHeader('Content-Type', type!);
    response.setHeader('Content-Security-Policy', policy);
    response.end(text);
  });
}

/** Starts a headless Chromium. */
export async function chromium(): Promise<Browser> {
  // The shell has Chromium's engine and network stack without its windows, and takes half of the processor time.
  const shell = '/usr/bin/chromium-headless-shell';
  const chosen = process.env.ICONEDGE_BROWSER;
  const path = (
    chosen ? [chosen] : [shell, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
  ).find(existsSync);
  if (!path) throw Error('no Chromium on this machine: `make test` installs it where it may');
  return launch({
    executablePath: path,
    timeout: 240_000,
    protocolTimeout: 240_000,
    args: ['--no-sandbox', '--force-color-profile=srgb'],
  });
}

/** Opens a page and records errors and warnings of its console, except the browser's messages about failed requests. */
export async function open(browser: Browser, address: string): Promise<{ page: Page; said: string[] }> {
  const page = await browser.newPage();
  page.setDefaultTimeout(240_000);
  const said: string[] = [];
  page.on('console', (message) => {
    const [type, text] = [message.type(), message.text()];
    if (/^(error|warn)/.test(type) && !text.startsWith('Failed to load resource')) said.push(`${type}: ${text}`);
  });
  page.on('pageerror', (error) => said.push(`thrown: ${String(error)}`));
  await page.goto(address);
  return { page, said };
}

/** The colours of a page's pixels, as #rrggbb. */
export async function pixels(page: Page, points: [x: number, y: number][]): Promise<string[]> {
  const data = await page.screenshot({ encoding: 'base64' });
  const reader = await page.browser().newPage(); // without a policy, because it loads an image into a canvas
  try {
    return await reader.evaluate(
      async (source, points) => {
        const image = new Image();
        image.src = source;
        await image.decode();
        const context = new OffscreenCanvas(image.width, image.height).getContext('2d')!;
        context.drawImage(image, 0, 0);
        return points.map(([x, y]) => {
          const [red, green, blue] = context.getImageData(x, y, 1, 1).data;
          return '#' + [red, green, blue].map((part) => part!.toString(16).padStart(2, '0')).join('');
        });
      },
      `data:image/png;base64,${data}`,
      points,
    );
  } finally {
    await reader.close();
  }
}
