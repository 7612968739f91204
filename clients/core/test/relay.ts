// A server between a plugin in its host and the real service: it records requests, and answers some itself.
import { Buffer } from 'node:buffer';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Answer {
  status: number;
  body: string;
  retry?: string;
}

export class Relay {
  readonly asked: { url: string; token: string | undefined; agent: string | undefined }[] = [];
  answer: ((url: string) => Answer | undefined) | undefined;
  url = '';

  /** @param edge the base address of the service */
  constructor(readonly edge: string) {}

  readonly #server = createServer((request, response) => {
    const { authorization: token, 'user-agent': agent, host } = request.headers;
    this.asked.push({ url: request.url!, token, agent });
    response.setHeader('Access-Control-Allow-Origin', '*');
    response.setHeader('Access-Control-Allow-Headers', 'Authorization');
    response.setHeader('Access-Control-Expose-Headers', 'Retry-After');
    const fault = this.answer?.(request.url!);
    if (fault?.retry) response.setHeader('Retry-After', fault.retry);
    if (fault) return void response.writeHead(fault.status).end(fault.body);
    void fetch(this.edge + request.url!).then(async (r) => {
      // The addresses of icons lead through the relay too.
      const text = Buffer.from(await r.arrayBuffer())
        .toString('latin1')
        .replaceAll(this.edge, `http://${host}`);
      response.writeHead(r.status, { 'Content-Type': r.headers.get('Content-Type') ?? '' }).end(text, 'latin1');
    });
  });

  async start(): Promise<void> {
    await new Promise<void>((ready) => this.#server.listen(0, '127.0.0.1', ready));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  get searches() {
    return this.asked.filter((a) => a.url.includes('/search'));
  }
}
