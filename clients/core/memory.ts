// Searches and waits that outlive a Client, for hosts that start anew each time. It is apart from the core, because other
// hosts have none.
import { retryAfter } from './client';

/** The response to a search with its time, or the time until which the service refuses requests; in ms. */
export interface Remembered {
  text: string;
  at: number;
}

/** Where a host stores them. */
export interface Memory {
  get(key: string): Promise<Remembered | undefined>;
  set(key: string, value: Remembered): Promise<void>;
}

export const remembered = 300_000; // ms for which a search is used again

/** Returns a fetch that repeats no search for five minutes, and makes no request of a class that the service refuses. */
export function remembering(memory: Memory, fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const url = new URL(input as string);
    const kind = /\/api\/v1\/(\w+)/.exec(url.pathname)?.[1] ?? 'cdn';
    const wait = `${kind} ${url.origin}`;
    const old = kind === 'search' ? await memory.get(url.href) : undefined;
    if (old && Date.now() - old.at < remembered) return new Response(old.text);
    const left = ((await memory.get(wait))?.at ?? 0) - Date.now();
    if (left > 0) return new Response('', { status: 429, headers: { 'Retry-After': String(Math.ceil(left / 1000)) } });
    const response = await fetch(input, init);
    const at = Date.now();
    if (response.status === 429)
      await memory.set(wait, { text: '', at: at + retryAfter(response.headers.get('Retry-After')) });
    if (kind !== 'search' || response.status !== 200) return response;
    const text = await response.text();
    if (isSearch(text)) await memory.set(url.href, { text, at });
    return new Response(text);
  };
}

function isSearch(text: string): boolean {
  try {
    return Array.isArray((JSON.parse(text) as { results?: unknown }).results);
  } catch {
    return false;
  }
}
