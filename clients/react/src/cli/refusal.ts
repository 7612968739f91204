/** What the command ends with, documented in docs/react.md. */
export const status = { done: 0, failed: 1, usage: 2, differs: 3 } as const;

/** An error that is an answer to the person who typed the command: its message is all that is said. */
export class Refusal extends Error {
  constructor(
    message: string,
    readonly status: number = 1,
  ) {
    super(message);
  }
}

/** Makes foreign words fit for one line of a terminal, a text or a comment: what controls those is a space. */
export const oneLine = (words: string) => words.replace(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]+/gu, ' ').trim();
