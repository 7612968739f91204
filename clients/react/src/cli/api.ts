import { oneLine, Refusal } from './refusal';
import { isKey, refText, type Ref } from './ref';

/** The parts of an icon that are copied. */
export interface Icon extends Ref {
  svg: string;
  license: string;
  licenseUrl: string;
  attribution: string;
  commercial: boolean;
}

/** The functions that tests replace. */
export interface World {
  fetch: typeof fetch;
  sleep: (milliseconds: number) => Promise<unknown>;
  say: (words: string) => void;
}

const timeout = 10_000; // milliseconds, for a whole response
const longestWait = 60; // seconds; the service counts limits over 60 seconds
const waits = 5; // after so many waits, other clients must be using up the limit

/** The client of an edge's API. It checks every response, and prints no text of it without removing control characters. */
export class Api {
  readonly #base: string;
  #away: Refusal | undefined; // set after a timeout, so that twenty icons do not time out one after the other

  constructor(
    base: string,
    readonly token: string | undefined,
    readonly world: World,
  ) {
    if (!URL.canParse(base) || !/^https?:$/.test(new URL(base).protocol))
      throw new Refusal(`the API's address ${JSON.stringify(base)} must begin with http:// or https://`, 2);
    this.#base = base.replace(/\/+$/, '') + '/api/v1';
  }

  /** One icon with its licence and credit. */
  async icon(ref: Ref): Promise<Icon> {
    const query = ref.stroke ? `?stroke=${ref.stroke}` : '';
    const { svg, license, metadata } = await this.#get(`/icon/${refText(ref)}${query}`, `no icon ${refText(ref)}`);
    const more = record(metadata);
    if (typeof svg !== 'string' || typeof license !== 'string' || typeof more.attribution !== 'string')
      throw new Refusal('the response of the API is not an icon');
    const url = oneLine(String(record(more.license).url ?? ''));
    return {
      ...ref,
      stroke: more.stroke == null ? undefined : ref.stroke, // without strokes of one width the icon keeps its own
      svg,
      license: oneLine(license),
      licenseUrl: /^https?:\/\/\S+$/.test(url) ? url : '',
      attribution: oneLine(more.attribution),
      commercial: more.commercial_use === true,
    };
  }

  /** All names of a pack, aliases too, in alphabetical order. */
  async names(pack: string): Promise<string[]> {
    const names = new Set<string>();
    for (let page = 1, pages = 1; page <= pages; page++) {
      const answer = await this.#get(`/packs/${pack}?per_page=1000&page=${page}`, `no pack ${pack}`);
      if (!Array.isArray(answer.icons)) throw new Refusal('the response of the API is not a pack');
      const listed = [...answer.icons.map((icon) => record(icon).name), ...Object.keys(record(answer.aliases))];
      listed.filter(isKey).forEach((name) => names.add(name));
      pages = Math.min(Number(answer.pages) || 1, 1000);
    }
    return [...names].sort();
  }

  async #get(path: string, missing: string): Promise<Record<string, unknown>> {
    for (let waited = 0; ; waited++) {
      const answer = await this.#ask(path);
      if (answer.status === 429 && waited < waits) await this.#wait(answer);
      else return this.#read(answer, missing);
    }
  }

  async #ask(path: string): Promise<Response> {
    if (this.#away) throw this.#away;
    const headers: Record<string, string> = { Accept: 'application/json' };
    if (this.token) headers.Authorization = `Bearer ${this.token}`;
    try {
      return await this.world.fetch(this.#base + path, { headers, signal: AbortSignal.timeout(timeout) });
    } catch (error) {
      throw this.#silent(error);
    }
  }

  #silent(error: unknown): Refusal {
    const cause = record(record(error).cause);
    const why = cause.code ?? cause.message ?? record(error).name; // ECONNREFUSED, bad port, TimeoutError
    const refusal = new Refusal(`no response from ${this.#base} (${oneLine(String(why))})`);
    if (record(error).name === 'TimeoutError') this.#away = refusal;
    return refusal;
  }

  async #wait(answer: Response) {
    await answer.body?.cancel();
    const after = answer.headers.get('Retry-After') ?? '5';
    const seconds = /^\d+$/.test(after) ? +after : (Date.parse(after) - Date.now()) / 1000;
    if (!(seconds <= longestWait)) throw new Refusal('the rate limit of the API is reached; try again later');
    this.world.say(`rate limit: waiting ${Math.max(1, Math.ceil(seconds))} s`);
    await this.world.sleep(Math.max(0, seconds) * 1000);
  }

  async #read(answer: Response, missing: string): Promise<Record<string, unknown>> {
    if (answer.status === 404) throw new Refusal(`the API has ${missing}`);
    if (answer.status === 410) throw new Refusal('it is withdrawn: the operator of the API no longer offers it');
    if (answer.status === 401)
      throw new Refusal('the API requires a valid licence token: set ICONEDGE_LICENSE_TOKEN to yours');
    if (answer.status === 429) throw new Refusal('the rate limit of the API is reached; try again later');
    if (!answer.ok) throw new Refusal(`the API responded with status ${answer.status}`);
    const text = await answer.text().catch((error: unknown) => {
      throw this.#silent(error);
    });
    try {
      return record(JSON.parse(text));
    } catch {
      throw new Refusal('the response of the API is not JSON');
    }
  }
}

const record = (value: unknown) =>
  (value !== null && typeof value === 'object' ? value : {}) as Record<string, unknown>;
