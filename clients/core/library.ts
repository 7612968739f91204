// The references of documents for hosts that are editors: it is apart from the core, because other hosts have no documents.
import { Fault, type Client, type Hit, type Variant } from './client';
import { creditOf } from './credit';
import type { Icon } from './output';
import { Pace } from './pace';
import { find, validKey, type Packs, type Reference } from './reference';

const packsFor = 3_600_000; // ms for which the list of packs is used
const unknownFor = 60_000; // ms for which a 404 or 410 is not asked again
const maxUnknown = 2000;
const checks = 40; // requests to the API in a minute that no user waits for
const longest = 2 << 20; // characters of a text that is examined
const patience = 2000; // ms, the longest wait before a search

/** The result of a check: the icon, or why there is none. wait: try again later, so as not to use up the user's limit. */
export interface State {
  svg?: string;
  fault?: Fault;
  wait?: boolean;
}

/** Whether a fault says that there is no such icon, now or any more. */
export const isUnknown = (fault: unknown): fault is Fault =>
  fault instanceof Fault && (fault.status === 404 || fault.status === 410);

/** The icons of one service, as documents name them. A change of settings makes a new Library. */
export class Library {
  #packs: { all: Map<string, { [name: string]: unknown }>; at: number } | undefined;
  #unknown = new Map<string, { fault: Fault; until: number }>();
  #checked: number[] = [];
  #pace = new Pace();
  #last: { pack: string; hits: Hit[] } = { pack: '', hits: [] };

  /** @param client without a colour or size: both change no reference */
  constructor(readonly client: Client) {
    this.cdn = client.host.settings.baseUrl;
  }

  /** The base address of the CDN, as the last response named it. */
  cdn: string;

  /** Notes the CDN of the hits of a search. */
  learn(hits: Hit[]): Hit[] {
    this.cdn = hits[0]?.cdn ?? this.cdn;
    return hits;
  }

  /** Reports which packs the library has. If the service fails, an older list is used. */
  async packs(): Promise<Packs> {
    if (!this.#packs || Date.now() - this.#packs.at > packsFor)
      try {
        this.#packs = { all: await this.client.packs(), at: Date.now() };
      } catch (error) {
        if (!this.#packs) throw error;
      }
    const { all } = this.#packs;
    return (key) => all.has(key);
  }

  /** Returns the references of a text. It makes no request while nothing looks like one. */
  async references(text: string): Promise<Reference[]> {
    if (text.length > longest || !find(text, () => true).length) return [];
    return find(text, await this.packs());
  }

  /** Returns an icon. A 404 or 410 is remembered for a minute. */
  async icon(pack: string, name: string, variant: Variant = {}): Promise<Icon> {
    const key = `${pack}/${name}`;
    const known = this.#unknown.get(key);
    if (known && Date.now() < known.until) throw known.fault;
    try {
      const icon = await this.client.icon(pack, name, variant);
      this.cdn = icon.cdn ?? this.cdn;
      return icon;
    } catch (error) {
      if (this.#unknown.size >= maxUnknown) this.#unknown.clear();
      if (isUnknown(error)) this.#unknown.set(key, { fault: error, until: Date.now() + unknownFor });
      throw error;
    }
  }

  /** Returns the icon that a reference names: a class can mean icons of several packs. The fault is that of the first. */
  async resolve(r: Reference): Promise<Icon> {
    let first: unknown;
    for (const [pack, name] of [`${r.pack}/${r.name}`, ...r.others].map((key) => key.split('/')))
      try {
        return await this.icon(pack!, name!);
      } catch (error) {
        first ??= error;
      }
    throw first;
  }

  /** Finds out whether a reference names an icon: by the CDN, which has no limit, and the API for what it lacks. */
  async check(r: Reference): Promise<State> {
    const known = this.#unknown.get(`${r.pack}/${r.name}`);
    if (known && Date.now() < known.until && !r.others.length) return { fault: known.fault };
    try {
      return { svg: await this.client.preview({ pack: r.pack, name: r.name, cdn: this.cdn }) };
    } catch (error) {
      if (!isUnknown(error)) return { fault: error as Fault };
    }
    this.#checked = this.#checked.filter((at) => Date.now() - at < 60_000);
    if (this.#checked.push(Date.now()) > checks) return { wait: true };
    try {
      return { svg: (await this.resolve(r)).svg };
    } catch (error) {
      return { fault: error as Fault };
    }
  }

  /**
   * Searches the name that is being typed, at the pace of the contract. Before its second letter, and before the first
   * search has ended, the hits are samples of the pack, because editors ask again only while a list is open. While the user goes on typing it returns the last
   * hits of the pack. After a fault failed gets it, and they stay.
   */
  async complete(pack: string, typed: string, cancelled: () => boolean, failed: (f: Fault) => void): Promise<Hit[]> {
    const words = typed.replace(/-$/, '');
    const last = () => (this.#last.pack === pack ? this.#last.hits : this.#samples(pack, words));
    if (words.length < 2) return this.#samples(pack, words);
    const key = `${pack} ${words}`;
    if (!this.#pace.type(Date.now(), key))
      do {
        const wait = (this.#pace.wake() ?? Infinity) - Date.now();
        if (wait > patience) return last();
        await new Promise((done) => setTimeout(done, Math.max(wait, 1)));
        if (cancelled()) return last(); // before due, which counts a search
      } while (this.#pace.due(Date.now()) === undefined);
    try {
      const hits = this.learn(await this.client.search(words, pack));
      this.#pace.answered(Date.now(), key);
      this.#last = { pack, hits };
      return hits;
    } catch (error) {
      this.#pace.limited(Date.now(), (error as Fault).wait);
      failed(error as Fault);
      return last();
    }
  }

  /** Returns the samples of a pack, those that begin with words first. */
  #samples(pack: string, words: string): Hit[] {
    const p = this.#packs?.all.get(pack) ?? {};
    const credit = creditOf(p.license, p.attribution, p.commercial_use);
    const names = (Array.isArray(p.samples) ? p.samples : []).filter(validKey);
    const [first, rest] = [true, false].map((begins) => names.filter((n) => n.startsWith(words) === begins));
    return [...first!, ...rest!].map((name) => ({
      pack,
      name,
      ...credit,
      monochrome: p.monochrome === true && p.palette !== true,
      cdn: this.cdn,
    }));
  }
}
