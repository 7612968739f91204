import { createHash } from 'node:crypto';

// Every file of the command contains a digest of its own text. So no separate list is needed to find the files that were
// changed by hand.
const line = /iconedge-react wrote this; digest ([0-9a-f]{16})/;

/** The line that {@link seal} completes, for a comment. */
export const unsealed = 'iconedge-react wrote this; digest 0000000000000000';

/** Inserts the digest of a text into its line. */
export const seal = (text: string) => text.replace(line, unsealed.replace(/0+$/, digest(text)));

/** Whether a text is unchanged since {@link seal}. Line ends do not matter, because git may change them. */
export function intact(text: string): boolean {
  const plain = text.replace(/\r\n/g, '\n');
  return line.exec(plain)?.[1] === digest(plain);
}

const digest = (text: string) => createHash('sha256').update(text.replace(line, unsealed)).digest('hex').slice(0, 16);
