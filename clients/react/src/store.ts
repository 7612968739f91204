import { draw } from './draw';

/** The state of an icon: its SVG, or the status of a response without one (0: no response, or not an SVG). */
export type Known = string | number | undefined;

/** A requested icon. */
export interface Entry {
  known?: Known;
  call?: AbortController | undefined;
  readonly copies: Set<() => void>;
  /** Notifies an instance of changes until the returned function is called. The first instance fetches the icon. */
  join(copy: () => void): () => void;
}

const entries = new Map<string, Entry>();
let base: string | undefined;

/** Sets the address that every icon is fetched from, such as `https://icons.example.org`. */
export function configureIcons(options: { base: string }): void {
  const next = options.base.replace(/\/+$/, '');
  if (next === base) return;
  base = next;
  entries.forEach((entry, key) => {
    stop(entry);
    update(entry);
    if (entry.copies.size) load(key, entry);
  });
}

/** The entry of an icon, which all its instances share. */
export function entryOf(key: string): Entry {
  let entry = entries.get(key)!;
  if (!entry)
    entries.set(
      key,
      (entry = {
        copies: new Set(),
        join(copy) {
          entry.copies.add(copy);
          load(key, entry);
          return () => {
            entry.copies.delete(copy);
            // Not at once: StrictMode unmounts and mounts again, and so does a list in a new order.
            setTimeout(() => entry.copies.size || stop(entry));
          };
        },
      }),
    );
  return entry;
}

function stop(entry: Entry) {
  entry.call = entry.call?.abort() as undefined; // in one statement, for fewer bytes
}

function update(entry: Entry, known?: Known) {
  entry.known = known;
  entry.copies.forEach((copy) => copy());
}

/** Fetches an icon once for all instances. An SVG and a 404 are final; after another failure a new instance fetches again. */
async function load(key: string, entry: Entry) {
  if (process.env.NODE_ENV !== 'production')
    setTimeout(() => base ?? notice('configureIcons({ base }) was not called'));
  if (base == null || entry.call || entry.known === 404 || !(((entry.known ?? 0) as number) >= 0)) return;
  const fetching = (entry.call = new AbortController());
  const known = await ask(key, fetching.signal).catch(() => 0);
  if (entry.call !== fetching) return; // aborted meanwhile
  entry.call = undefined;
  update(entry, known);
  if (process.env.NODE_ENV !== 'production' && typeof known === 'number')
    notice(`${key.replace('.svg', '')} cannot be drawn: ${known || 'no response, or not an SVG'}`);
}

async function ask(key: string, signal: AbortSignal) {
  // Pack and name become part of an address, and must not change its meaning.
  if (!/^([a-z\d-]+[/.]){2}svg(\?stroke=[\d.]+)?$/.test(key)) return 404;
  const answer = await fetch(`${base}/${key}`, { signal, credentials: 'omit' });
  if (!answer.ok) return answer.status;
  const text = await answer.text();
  draw(text); // throws if the text cannot be drawn
  return text;
}

const said = /* @__PURE__ */ new Set<string>();

/** Warns the developer once. Bundlers remove the calls from production builds. */
function notice(words: string) {
  if (!said.has(words)) console.warn('@iconedge/react: ' + words);
  said.add(words);
}
