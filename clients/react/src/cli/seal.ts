import { createHash } from 'node:crypto';

// What the command writes says so, with a digest of itself: so no list of files has to be kept beside them to know which
// were changed by hand.
const line = /iconedge-react wrote this; digest ([0-9a-f]{16})/;

/** The words that {@link seal} completes; they belong into a comment. */
export const unsealed = 'iconedge-react wrote this; digest 0000000000000000';

/** Puts a text's digest into the line that it has for it. */
export const seal = (text: string) => text.replace(line, unsealed.replace(/0+$/, digest(text)));

/** Whether a text is as {@link seal} left it. Line ends do not count: git may change those. */
export function intact(text: string): boolean {
  const plain = text.replace(/\r\n/g, '\n');
  return line.exec(plain)?.[1] === digest(plain);
}

const digest = (text: string) => createHash('sha256').update(text.replace(line, unsealed)).digest('hex').slice(0, 16);
