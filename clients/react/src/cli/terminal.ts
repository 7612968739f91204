import { createInterface } from 'node:readline/promises';

/** Output, and questions to the user. */
export interface Terminal {
  say(words: string): void;
  fail(words: string): void;
  /** Asks the user. Without a terminal the answer is the preset. */
  ask(question: string, preset: string): Promise<string>;
}

/** The terminal of the process. It asks only if both stdin and stdout are terminals. */
export const terminal: Terminal = {
  say: (words) => void process.stdout.write(words + '\n'),
  fail: (words) => void process.stderr.write(`iconedge-react: ${words}\n`),
  async ask(question, preset) {
    if (!process.stdin.isTTY || !process.stdout.isTTY) return preset;
    const lines = createInterface({ input: process.stdin, output: process.stdout });
    try {
      return (await lines.question(`${question} `)).trim() || preset;
    } finally {
      lines.close();
    }
  },
};
