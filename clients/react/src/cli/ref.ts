import { Refusal } from './refusal';

/** Names one icon: a pack's key and a name in that pack. */
export interface Ref {
  pack: string;
  name: string;
  stroke?: string | undefined; // the width of the strokes, if not the icon's own
}

// The service's own rule (docs/reference/api.md). It makes a name safe in an address, in a path and in TypeScript.
const key = /^[a-z0-9]+(-[a-z0-9]+)*$/;

/** Whether a word is a pack's key or an icon's name. */
export const isKey = (word: unknown): word is string =>
  typeof word === 'string' && word.length <= 128 && key.test(word);

/** Parses "pack/name"; throws a Refusal otherwise. */
export function parseRef(word: string): Ref {
  const [pack, name, more] = word.split('/');
  if (!isKey(pack) || !isKey(name) || more !== undefined)
    throw new Refusal(
      `${JSON.stringify(word)} is not pack/name, both of lower-case letters, digits and single hyphens`,
    );
  return { pack, name };
}

/** The form that {@link parseRef} parses. */
export const refText = ({ pack, name }: Ref) => `${pack}/${name}`;
