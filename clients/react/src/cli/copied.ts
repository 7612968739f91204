import { rm } from 'node:fs/promises';
import { chosen, each, fetched, type Call } from './add';
import { copy } from './copy';
import { keepLists } from './lists';
import { refText } from './ref';
import { Refusal, status } from './refusal';
import { intact } from './seal';

/** Lists the copied icons with their licences. With `commercial`, an icon that may not be used commercially is a failure. */
export async function list(call: Call): Promise<number> {
  let failed = 0;
  for (const file of await chosen(call)) {
    const barred = call.settings.commercial && /, not for commercial use$/.test(file.license);
    if (barred) failed++;
    const notes = [file.license, intact(file.text) ? '' : 'changed by hand', barred ? 'REFUSED by the config' : ''];
    call.terminal.say(`${refText(file)}  ${file.path}  ${notes.filter(Boolean).join('; ')}`);
  }
  return failed ? status.failed : status.done;
}

/** Shows the changes that `update` would make. */
export async function diff(call: Call): Promise<number> {
  let differing = 0;
  const failed = await each(
    call,
    await chosen(call),
    async (file) => {
      const next = copy(await fetched(call, file), file.format);
      const now = file.text.replace(/\r\n/g, '\n');
      if (now === next) return;
      differing++;
      call.terminal.say(`${file.path}${intact(now) ? '' : ' (changed by hand)'}\n${changes(now, next)}`);
    },
    refText,
  );
  if (failed) return status.failed;
  return differing ? status.differs : status.done;
}

/** The lines from the first to the last difference. */
export function changes(now: string, next: string): string {
  const [old, young] = [now.split('\n'), next.split('\n')];
  let head = 0;
  while (head < old.length && old[head] === young[head]) head++;
  let tail = 0;
  while (tail < Math.min(old.length, young.length) - head && old.at(-1 - tail) === young.at(-1 - tail)) tail++;
  const part = (lines: string[], sign: string) => lines.slice(head, lines.length - tail).map((line) => sign + line);
  return [`@@ line ${head + 1} @@`, ...part(old, '-'), ...part(young, '+')].join('\n');
}

/** Removes copied icons; those that were changed by hand only with --force. */
export async function remove(call: Call): Promise<number> {
  const { settings, terminal } = call;
  if (!settings.words.length)
    throw new Refusal('remove needs the name of an icon, for example: iconedge-react remove mdi/home', status.usage);
  for (const file of await chosen(call)) {
    if (!intact(file.text) && !settings.force) {
      terminal.say(`kept     ${file.path} (changed by hand; --force removes it)`);
      continue;
    }
    if (!settings.dryRun) await rm(file.path);
    terminal.say(`${settings.dryRun ? 'would remove' : 'remove  '} ${file.path}`);
  }
  if (!settings.dryRun) await keepLists(settings, terminal);
  return status.done;
}
