import { creditOf } from './credit';
import type { Icon } from './output';
import { validKey } from './reference';
import { parseColor, type Settings } from './settings';
import { checkSVG } from './svg';

/** A failure that the user can act on. Its message is one sentence, which repeats nothing from the response but names. */
export class Fault extends Error {
  /**
   * @param status of the response; 0: there was none, or it was not valid
   * @param wait after a 429: ms until the next request of that class
   * @param close after a 404: similar names of the same pack; at most 5
   */
  constructor(
    message: string,
    readonly status = 0,
    readonly wait = 0,
    readonly close: string[] = [],
  ) {
    super(message);
  }
}

/** Returns the query of those parameters that are set. */
export function query(parameters: { [name: string]: string | number | boolean | undefined }): string {
  const q = new URLSearchParams();
  for (const name in parameters) if (parameters[name]) q.set(name, parameters[name] as string); // set makes it one
  return (q.size ? '?' : '') + q.toString();
}

/** One result of a search. */
export interface Hit {
  pack: string;
  name: string;
  license: string;
  attribution: string;
  commercialUse: boolean;
  monochrome: boolean;
  color?: string | undefined; // of a monochrome icon; undefined: that of the text
  cdn: string; // base address
}

/** The requested form of an icon. */
export interface Variant {
  color?: string;
  size?: number; // height in pixels
  id?: string; // a prefix for the ids within, for a page that has the icon more than once
}

/** What a Client needs from its host. */
export interface Host {
  settings: Settings;
  token?: string | undefined;
  agent?: string | undefined; // iconedge-HOST/VERSION, where the host lets it be set
  fetch?: typeof fetch;
}

const timeout = 10_000;
const remembered = 300_000; // ms
const maxCached = 3 << 19; // characters of two bytes; the rest of the 4 MB is for keys
const longestWait = 3_600_000;

type Data = { [name: string]: unknown };
const isData = (v: unknown): v is Data => typeof v === 'object' && v !== null && !Array.isArray(v);

/**
 * Calls the API: {api}/search, /icon/x/y and /packs, and the CDN for previews. It makes no request before the first call.
 * It caches no failure, sends the token to baseUrl alone, and obeys Retry-After in each class of limits.
 */
export class Client {
  #cache = new Map<string, { text: string; at: number }>();
  #size = 0;
  #fetches = new Map<string, Promise<string>>();
  #blocked = new Map<string, number>();

  constructor(readonly host: Host) {}

  /** Searches icons, in the order of the API, and keeps those of the setting packs that have valid names. */
  async search(words: string, pack?: string): Promise<Hit[]> {
    const { packs, commercialOnly } = this.host.settings;
    const only = pack ?? (packs.length === 1 ? packs[0] : undefined);
    const target = '/search' + query({ q: words.trim(), limit: 50, pack: only, commercial: commercialOnly });
    const answer = await this.#api(target, 'The pack', (d) => Array.isArray(d.results));
    const hits = (answer.results as unknown[]).filter(isData).flatMap((r) => hit(r) ?? []);
    return hits.filter((h) => (!packs.length || packs.includes(h.pack)) && (h.commercialUse || !commercialOnly));
  }

  /** Returns one icon, in the colour and size of the settings unless others are given; throws if its SVG is unsafe. */
  async icon(pack: string, name: string, variant: Variant = this.host.settings): Promise<Icon> {
    if (!validKey(pack) || !validKey(name)) throw new Fault('Names have only lower-case letters, digits and hyphens.');
    const { color, size, id } = variant;
    const target = `/icon/${pack}/${name}` + query({ color, size, id });
    const a = await this.#api(target, `Icon ${pack}/${name}`, (d) => !!d.svg && !!d.license && isData(d.metadata));
    return iconOf(pack, name, a);
  }

  /** Returns what the API says about each pack, by their keys. */
  async packs(): Promise<Map<string, { [name: string]: unknown }>> {
    const a = await this.#api('/packs', 'The list of packs', (d) => Array.isArray(d.packs));
    return new Map((a.packs as unknown[]).filter(isData).flatMap((p) => (validKey(p.pack) ? [[p.pack, p]] : [])));
  }

  /** Returns the SVG of a hit from the CDN, for a preview; throws if it is unsafe. */
  async preview(h: Pick<Hit, 'pack' | 'name' | 'cdn'>): Promise<string> {
    const svg = await this.#text(`${h.cdn}/${h.pack}/${h.name}.svg`, 'cdn', `Icon ${h.pack}/${h.name}`);
    return safe(svg, `${h.pack}/${h.name}`);
  }

  async #api(target: string, what: string, whole: (d: Data) => boolean): Promise<Data> {
    const url = this.host.settings.baseUrl + '/api/v1' + target;
    const check = (text: string) => {
      const data: unknown = JSON.parse(text);
      if (!isData(data) || !whole(data)) throw new Error();
    };
    return JSON.parse(await this.#text(url, /\w+/.exec(target)![0], what, check)) as Data;
  }

  /** Returns a response from the cache or the service. Concurrent requests for one address are one. */
  async #text(url: string, kind: string, what: string, check: (text: string) => void = () => {}): Promise<string> {
    const cached = this.#cache.get(url);
    if (cached && Date.now() - cached.at < remembered) return cached.text;
    const left = (this.#blocked.get(kind) ?? 0) - Date.now();
    if (left > 0) throw limited(left);
    let running = this.#fetches.get(url);
    if (!running) {
      running = this.#fetch(url, kind, what, check).finally(() => this.#fetches.delete(url));
      this.#fetches.set(url, running);
    }
    return running;
  }

  async #fetch(url: string, kind: string, what: string, check: (text: string) => void): Promise<string> {
    const { token, agent, settings } = this.host;
    const headers: Record<string, string> = {};
    if (kind !== 'cdn' && token) headers.Authorization = 'Bearer ' + token;
    if (agent) headers['User-Agent'] = agent;
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), timeout);
    let response: Response;
    let text: string;
    try {
      // A redirect would take the token elsewhere.
      const init: RequestInit = { headers, signal: stop.signal, redirect: 'error', credentials: 'omit' };
      response = await (this.host.fetch ?? fetch)(url, init);
      text = await response.text();
    } catch {
      throw unreachable(stop.signal.aborted, settings.baseUrl);
    } finally {
      clearTimeout(timer);
    }
    if (response.status !== 200) throw this.#refused(response, text, kind, what);
    if (token) text = text.replaceAll(token, '…');
    try {
      check(text);
    } catch {
      throw new Fault('The icon service returned an invalid response; try again later.');
    }
    this.#store(url, text);
    return text;
  }

  #refused(response: Response, text: string, kind: string, what: string): Fault {
    const { status } = response;
    if (status === 429) {
      const wait = retryAfter(response.headers.get('Retry-After'));
      this.#blocked.set(kind, Date.now() + wait);
      return limited(wait);
    }
    if (status === 404) {
      const close = suggestions(text);
      const more = close.length ? ` Close names: ${close.join(', ')}.` : '';
      return new Fault(what + ' was not found.' + more, status, 0, close);
    }
    if (status === 410) return new Fault(what + ' is withdrawn.', status);
    if (status === 401 || status === 403)
      return new Fault('The icon service did not accept the license token.', status);
    return new Fault(`The icon service failed with status ${status}; try again later.`, status);
  }

  #store(url: string, text: string) {
    this.#size += text.length - (this.#cache.get(url)?.text.length ?? 0);
    this.#cache.delete(url);
    this.#cache.set(url, { text, at: Date.now() });
    for (const [oldest, entry] of this.#cache) {
      if (this.#size <= maxCached) break;
      this.#cache.delete(oldest);
      this.#size -= entry.text.length;
    }
  }
}

function hit(r: Data): Hit | undefined {
  const { pack, name } = r;
  if (!validKey(pack) || !validKey(name)) return;
  const cdn = baseOf(r.url, `/${pack}/${name}.svg`);
  if (cdn === undefined) return;
  const credit = creditOf(r.license, r.attribution, r.commercial_use);
  return { pack, name, ...credit, monochrome: r.monochrome === true, color: parseColor(r.color), cdn };
}

/** Returns the base of an address that ends with a path; undefined if it is no such address. */
const baseOf = (url: unknown, path: string): string | undefined =>
  typeof url === 'string' && /^https?:\/\/[^?#\s"\\()]+$/.test(url) && url.endsWith(path)
    ? url.slice(0, -path.length)
    : undefined;

function iconOf(pack: string, name: string, a: Data): Icon {
  const m = a.metadata as Data;
  const credit = creditOf(a.license, m.attribution, m.commercial_use);
  const svg = safe(String(a.svg), `${pack}/${name}`);
  const [width, height] = [Number(m.width) || 0, Number(m.height) || 0];
  const cdn = baseOf(m.url, `/${pack}/${name}.svg`);
  const more = { ...(cdn !== undefined && { cdn }), ...(validKey(m.alias_of) && { alias: m.alias_of }) };
  return {
    pack,
    name,
    svg,
    credit,
    width,
    height,
    monochrome: m.monochrome === true,
    color: parseColor(m.color),
    recolored: m.recolored === true,
    ...more,
  };
}

function safe(svg: string, name: string): string {
  try {
    checkSVG(svg);
  } catch {
    throw new Fault(`The icon service returned an SVG for ${name} that is not safe.`);
  }
  return svg;
}

function unreachable(late: boolean, base: string): Fault {
  if (late) return new Fault('The icon service did not answer in time; try again.');
  return new Fault(`No icon service answers at ${base}; change the setting baseUrl, or try again later.`);
}

/** The fault of a request during a wait. The seconds are rounded up, because a request before the end would fail. */
export function limited(wait: number): Fault {
  const seconds = Math.ceil(wait / 1000);
  return new Fault(
    `The icon service's rate limit is reached; retry in ${seconds} second${seconds > 1 ? 's' : ''}.`,
    429,
    wait,
  );
}

/** The ms of Retry-After in seconds, at most an hour; without one a minute, the window of the service's limits. */
export const retryAfter = (value: string | null): number =>
  Math.min(Number(value) > 0 ? Number(value) * 1000 : 60_000, longestWait);

function suggestions(text: string): string[] {
  try {
    const { suggestions: names } = JSON.parse(text) as { suggestions?: unknown };
    return (Array.isArray(names) ? names : []).filter(validKey).slice(0, 5);
  } catch {
    return [];
  }
}
