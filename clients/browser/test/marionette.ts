// Firefox by its Marionette protocol, since WebDriver BiDi opens no page of an extension:
// https://firefox-source-docs.mozilla.org/testing/marionette/Protocol.html
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';

/** The name under which WebDriver returns a reference to an element. */
const element = 'element-6066-11e4-a52e-4f735466cecf';

/** A headless Firefox with a profile of its own. Each command waits for the one before it. */
export class Firefox {
  #waiting = new Map<number, { done: (value: unknown) => void; failed: (why: Error) => void }>();
  #read = Buffer.alloc(0);
  #last = 0;

  private constructor(
    private readonly program: ChildProcess,
    private readonly profile: string,
    private readonly socket: Socket,
  ) {
    socket.on('data', (bytes) => this.#receive(bytes));
  }

  static async start(path: string): Promise<Firefox> {
    const profile = mkdtempSync(join(tmpdir(), 'iconedge-firefox-'));
    const preferences = { 'marionette.port': 0, 'browser.shell.checkDefaultBrowser': false };
    const lines = Object.entries(preferences).map(([name, value]) => `user_pref("${name}", ${value});\n`);
    writeFileSync(join(profile, 'user.js'), lines.join(''));
    const flags = ['--headless', '--no-remote', '--marionette', '--remote-allow-system-access', '--profile', profile];
    const program = spawn(path, flags, { stdio: 'ignore', env: { ...process.env, MOZ_DISABLE_CONTENT_SANDBOX: '1' } });
    const port = join(profile, 'MarionetteActivePort');
    while (!existsSync(port) || readFileSync(port, 'utf8') === '') await pause(50);
    const socket = connect(Number(readFileSync(port, 'utf8')), '127.0.0.1');
    await once(socket, 'connect');
    const firefox = new Firefox(program, profile, socket);
    await firefox.call('WebDriver:NewSession', { capabilities: { alwaysMatch: {} } });
    return firefox;
  }

  #receive(bytes: Buffer) {
    this.#read = Buffer.concat([this.#read, bytes]);
    for (;;) {
      const colon = this.#read.indexOf(':');
      const length = Number(this.#read.subarray(0, colon).toString());
      if (colon < 0 || this.#read.length < colon + 1 + length) return;
      const message = JSON.parse(this.#read.subarray(colon + 1, colon + 1 + length).toString()) as unknown;
      this.#read = this.#read.subarray(colon + 1 + length);
      if (!Array.isArray(message)) continue; // the greeting
      const [, id, error, result] = message as [number, number, { error: string; message: string } | null, unknown];
      const call = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error) call?.failed(new Error(`${error.error}: ${error.message}`));
      else call?.done(result);
    }
  }

  async call(name: string, parameters: object = {}): Promise<unknown> {
    const id = ++this.#last;
    const text = JSON.stringify([0, id, name, parameters]);
    this.socket.write(`${Buffer.byteLength(text)}:${text}`);
    return new Promise((done, failed) => this.#waiting.set(id, { done, failed }));
  }

  /** Installs an unpacked or packed extension, and returns the address of its pages. */
  async install(path: string, id: string): Promise<string> {
    await this.call('Addon:Install', { path, temporary: true });
    await this.call('Marionette:SetContext', { value: 'chrome' });
    const base = await this.run<string>(`return WebExtensionPolicy.getByID(${JSON.stringify(id)}).getURL('')`);
    await this.call('Marionette:SetContext', { value: 'content' });
    return base;
  }

  /** Runs the body of a function in the page; a promise that it returns is waited for. */
  async run<T>(script: string): Promise<T> {
    const { value } = (await this.call('WebDriver:ExecuteScript', { script, args: [] })) as { value: T };
    return value;
  }

  async until(script: string): Promise<void> {
    for (const end = Date.now() + 20_000; Date.now() < end; await pause(50))
      if (await this.run<boolean>(`return Boolean(${script})`)) return;
    throw new Error(
      `never true in 20 s: ${script}; the page says: ${await this.run('return document.documentElement.textContent.slice(-2000)')}`,
    );
  }

  async #find(selector: string): Promise<string> {
    const found = (await this.call('WebDriver:FindElement', { using: 'css selector', value: selector })) as {
      value: Record<string, string>;
    };
    return found.value[element]!;
  }

  async type(selector: string, text: string): Promise<void> {
    await this.call('WebDriver:ElementSendKeys', { id: await this.#find(selector), text });
  }

  async click(selector: string): Promise<void> {
    await this.call('WebDriver:ElementClick', { id: await this.#find(selector) });
  }

  async stop(): Promise<void> {
    const ended = once(this.program, 'exit');
    this.program.kill();
    await ended;
    this.socket.destroy();
    rmSync(this.profile, { recursive: true, force: true });
  }
}
