/** The exit statuses, documented in docs/how-to/react.md. */
export const status = { done: 0, failed: 1, usage: 2, differs: 3 } as const;

/** An error for the user: the command prints its message, without a stack trace. */
export class Refusal extends Error {
  constructor(
    message: string,
    readonly status: number = 1,
  ) {
    super(message);
  }
}

/** Makes a foreign text fit for one line of a terminal, a file or a comment: control characters become a space. */
export const oneLine = (words: string) => words.replace(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]+/gu, ' ').trim();
