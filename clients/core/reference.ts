// Finds the words of a text that name icons: pack:name, pack/name, i-pack-name and i-pack:name. It has the rules of
// clients/go/reference in Go; clients/testdata/reference.json has the cases of both.

/** A word of a text that names an icon. Start and end are offsets in UTF-16 code units. */
export interface Reference {
  start: number;
  end: number;
  pack: string;
  name: string;
  prefix: string; // i- for a class, else empty
  separator: string; // between pack and name: a colon, a slash or a hyphen
  others: string[]; // the other icons, pack/name, that a class i-pack-name can mean
}

/** A reference that is being typed. Its name may be empty, or end with a hyphen. */
export type Partial = Omit<Reference, 'end' | 'others'>;

/** Reports whether the library has a pack. */
export type Packs = (key: string) => boolean;

const longest = 300; // characters of the longest word that is examined
const words = /[-_./:@\\~%+#$\p{L}\p{N}\p{M}]+/gu;
const lastWord = /[-_./:@\\~%+#$\p{L}\p{N}\p{M}]*$/u;

/** Reports whether s is in the contract's alphabet of packs and names, and at most 128 bytes long. */
export const validKey = (s: unknown): s is string =>
  typeof s === 'string' && s.length <= 128 && /^[a-z0-9]+(-[a-z0-9]+)*$/.test(s);

/** Returns the references of a text in their order. */
export function find(text: string, packs: Packs): Reference[] {
  const found: Reference[] = [];
  words.lastIndex = 0;
  for (let match; (match = words.exec(text));) {
    const [word] = match;
    if (word.includes('://')) {
      words.lastIndex = match.index + text.slice(match.index).search(/[\s"'`<>()]|$/);
      continue;
    }
    const r = word.length <= longest && parse(word.replace(/[.:]+$/, ''), packs, validKey);
    if (r) found.push({ ...r, start: r.start + match.index, end: r.end + match.index });
  }
  return found;
}

/** Reads a word. The function named reports whether a name is one. Of a class with hyphens the longest pack counts. */
function parse(word: string, packs: Packs, named: (name: string) => boolean): Reference | undefined {
  const variant = word.lastIndexOf(':i-'); // as in dark:hover:i-mdi-home
  const start = variant > 0 && !/[/.\\]/.test(word.slice(0, variant)) ? variant + 1 : 0;
  const prefix = word.startsWith('i-', start) ? 'i-' : '';
  const rest = prefix ? word.slice(start + 2) : word;
  const separator = prefix ? (rest.includes(':') ? ':' : '-') : (/[:/]/.exec(rest)?.[0] ?? '');
  const parts = separator ? rest.split(separator) : [];
  const all: [string, string][] = [];
  for (let at = separator === '-' ? parts.length - 1 : 1; at > 0; at--) {
    const [pack, name] = [parts.slice(0, at).join(separator), parts.slice(at).join(separator)];
    if (validKey(pack) && named(name) && packs(pack)) all.push([pack, name]);
  }
  const [first, ...others] = all;
  if (!first) return;
  const [pack, name] = first;
  return { start, end: word.length, pack, name, prefix, separator, others: others.map((o) => o.join('/')) };
}

/** Returns the reference that is being typed at the end of a text. */
export function before(text: string, packs: Packs): Partial | undefined {
  const word = lastWord.exec(text.slice(-longest - 1))![0];
  const begin = text.length - word.length;
  const address = /[^\s"'`<>()]*$/.exec(text.slice(0, begin))!.index;
  if (word.length > longest || text.slice(address).includes('://')) return;
  const typed = parse(word, packs, (name) => name === '' || validKey(name.replace(/-$/, '')));
  return typed && { ...typed, start: typed.start + begin };
}
