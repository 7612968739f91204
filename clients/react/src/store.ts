import { draw } from './drawing';

/** What is known of an icon: the text of its drawing, or the status of an answer that had none (0: no answer, or no SVG). */
export type Known = string | number | undefined;

/** An icon that was asked for. */
export interface Entry {
  known?: Known;
  flight?: AbortController | undefined;
  readonly copies: Set<() => void>;
  /** Keeps a copy up to date until what it returns is called; the first copy of an icon asks the CDN for it. */
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
    tell(entry, undefined);
    if (entry.copies.size) fly(key, entry);
  });
}

/** What there is about an icon; it is the same for all copies. */
export function entryOf(key: string): Entry {
  let entry = entries.get(key)!;
  if (!entry)
    entries.set(
      key,
      (entry = {
        copies: new Set(),
        join(copy) {
          entry.copies.add(copy);
          fly(key, entry);
          return () => {
            entry.copies.delete(copy);
            // Not at once: StrictMode unmounts and mounts again, and so does a list that is put in another order.
            setTimeout(() => entry.copies.size || stop(entry));
          };
        },
      }),
    );
  return entry;
}

function stop(entry: Entry) {
  entry.flight?.abort();
  entry.flight = undefined;
}

function tell(entry: Entry, known: Known) {
  entry.known = known;
  entry.copies.forEach((copy) => copy());
}

/** Asks for an icon, once for all its copies. A drawing is kept, and so is that there is none; another failure is not. */
async function fly(key: string, entry: Entry) {
  if (process.env.NODE_ENV !== 'production')
    setTimeout(() => base ?? notice('configureIcons({ base }) was not called'));
  if (base == null || entry.flight || typeof entry.known === 'string' || entry.known === 404) return;
  const flight = (entry.flight = new AbortController());
  const known = await ask(key, flight.signal).catch(() => 0);
  if (entry.flight !== flight) return; // nobody waits for this answer any more
  entry.flight = undefined;
  tell(entry, known);
  if (process.env.NODE_ENV !== 'production' && typeof known === 'number')
    notice(`${key} is not drawn: ${known || 'no answer, or no SVG'}`);
}

async function ask(key: string, signal: AbortSignal) {
  // Pack and name go into an address, and must not lead anywhere else.
  if (!/^[a-z\d-]+\/[a-z\d-]+$/.test(key)) return 404;
  const answer = await fetch(`${base}/${key}.svg`, { signal, credentials: 'omit' });
  if (!answer.ok) return answer.status;
  const text = await answer.text();
  draw(text); // throws what no copy could be drawn from
  return text;
}

const said = /* @__PURE__ */ new Set<string>();

/** Tells the developer something once; a bundler that builds for production leaves the calls out. */
function notice(words: string) {
  if (!said.has(words)) console.warn('@iconedge/react: ' + words);
  said.add(words);
}
