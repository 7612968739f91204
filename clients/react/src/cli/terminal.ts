import { createInterface } from 'node:readline/promises';

/** Where words go to and answers come from. */
export interface Terminal {
  say(words: string): void;
  fail(words: string): void;
  /** Asks a person; where there is none, the answer is the preset one. */
  ask(question: string, preset: string): Promise<string>;
}

/** The process's own. It asks only when both ends are a terminal. */
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
