// The snippets of an icon's page in the tools that they are for: TypeScript, the React package's command, Vue's compiler, an MCP server.
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { close, open, site } from './shared.mjs';

const root = new URL('../../', import.meta.url).pathname;
const dir = mkdtempSync(join(tmpdir(), 'iconedge-snippets-'));
after(() => rmSync(dir, { recursive: true, force: true }));
const run = promisify(execFile);

/** The snippets of an icon's page, by their ids. */
async function snippets(path) {
  const page = await open(path);
  const codes = Object.fromEntries(await page.locator('[data-testid^=snippet-]').evaluateAll((all) => all.map((code) => [code.dataset.testid.slice(8), code.textContent])));
  await close(page);
  return codes;
}

describe('snippets', () => {
  test('React compiles as strict TSX against the package', async () => {
    const react = join(root, 'clients/react');
    const files = [];
    for (const [i, path] of ['/icon/mdi/home?color=%23e4572e&size=48', '/icon/lucide/2d', '/icon/colors/home?size=20'].entries()) {
      files.push(join(dir, `snippet-${i}.tsx`));
      writeFileSync(files.at(-1), (await snippets(path)).react);
    }
    const types = (name) => [join(react, 'node_modules/@types', name)];
    const compilerOptions = {
      target: 'ES2022', lib: ['ES2023', 'DOM', 'DOM.Iterable'], module: 'ESNext', moduleResolution: 'bundler', jsx: 'react-jsx', strict: true, skipLibCheck: true, noEmit: true, types: ['node'], typeRoots: [join(react, 'node_modules/@types')],
      paths: { '@iconedge/react': [join(react, 'src/index.ts')], react: types('react'), 'react/jsx-runtime': types('react/jsx-runtime') },
    };
    const tsc = async (list) => {
      writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: list }));
      return run(process.execPath, [join(react, 'node_modules/typescript/bin/tsc'), '-p', dir]).then(() => '', (error) => error.stdout);
    };
    assert.equal(await tsc(files), '');
    writeFileSync(join(dir, 'wrong.tsx'), readFileSync(files[0], 'utf8').replace('size={48}', 'size={{}}'));
    assert.match(await tsc([join(dir, 'wrong.tsx')]), /TS2322/);
  });
  test('the command line copies the icon in', async () => {
    const cli = join(dir, 'cli.mjs');
    await build({ entryPoints: [join(root, 'clients/react/src/cli/main.ts')], bundle: true, platform: 'node', format: 'esm', outfile: cli, logLevel: 'error', banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" } });
    const [npx, name, ...args] = (await snippets('/icon/mdi/home')).cli.split(' ');
    assert.deepEqual([npx, name, args[0]], ['npx', '@iconedge/react', 'add']);
    await run(process.execPath, [cli, ...args], { cwd: dir });
    const [path] = execFileSync('find', [join(dir, 'src/icons'), '-name', '*home*', '-type', 'f']).toString().trim().split('\n');
    assert.match(readFileSync(path, 'utf8'), /M10 20v-6h4v6h5v-8h3L12 3 2 12h3v8z/);
  });
  test('Vue compiles', async () => {
    const { parse, compileScript } = createRequire(join(root, 'tools/iconify/package.json'))('@vue/compiler-sfc');
    const { descriptor, errors } = parse((await snippets('/icon/mdi/home?color=%23e4572e&size=48&rotate=90&flip=horizontal')).vue);
    assert.deepEqual(errors, []);
    assert.match(compileScript(descriptor, { id: 'icon', inlineTemplate: true }).content, /icon: "mdi:home"[^]*color: "#e4572e"[^]*rotate: "90deg"/);
  });
  test('MCP: the call gets the icon', async () => {
    const token = execFileSync(site.program, ['token', 'issue', '--store', 'dir:' + join(site.dir, 'store'), '--plan', 'lifetime'], { stdio: ['ignore', 'pipe', 'ignore'] }).toString().trim();
    const server = spawn(site.program, ['mcp', '--api', site.base, '--cdn', site.base], { env: { ...process.env, ICONEDGE_LICENSE_TOKEN: token }, stdio: ['pipe', 'pipe', 'ignore'] });
    const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
    const call = async (id, method, params) => {
      server.stdin.write(JSON.stringify({ jsonrpc: '2.0', id, method, params }) + '\n');
      for (;;) {
        const { value, done } = await lines.next();
        assert.equal(done, false);
        const answer = JSON.parse(value);
        if (answer.id === id) return answer.result;
      }
    };
    await call(1, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } });
    server.stdin.write(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }) + '\n');
    const result = await call(2, 'tools/call', JSON.parse((await snippets('/icon/mdi/home?color=%23e4572e')).mcp));
    server.stdin.end();
    assert.ok(!result.isError, JSON.stringify(result));
    assert.match(JSON.stringify(result), /#e4572e[^]*M10 20v-6h4v6h5v-8h3L12 3 2 12h3v8z|M10 20v-6h4v6h5v-8h3L12 3 2 12h3v8z[^]*#e4572e/);
  });
});
