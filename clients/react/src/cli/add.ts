import type { Api, Icon } from './api';
import { keepLists } from './lists';
import { copy } from './copy';
import { copied, pathOf, standing, write } from './files';
import { parseRef, refText, type Ref } from './ref';
import { oneLine, Refusal, status } from './refusal';
import type { Settings } from './settings';
import type { Terminal } from './terminal';

/** The context of a command. */
export interface Call {
  settings: Settings;
  api: Api;
  terminal: Terminal;
}

/** Copies icons in. A failure of one icon does not affect the others. */
export async function add(call: Call): Promise<number> {
  if (!call.settings.words.length)
    throw new Refusal('add needs the name of an icon, for example: iconedge-react add mdi/home', status.usage);
  const words = [...new Set(call.settings.words)];
  return finish(
    call,
    await each(call, words, async (word) =>
      place(call, { ...parseRef(word), stroke: call.settings.stroke }, call.settings),
    ),
  );
}

/** Copies the icons in the folder (or the named ones) again, in their current form. */
export async function update(call: Call): Promise<number> {
  const list = await chosen(call);
  return finish(
    call,
    await each(call, list, (file) => place(call, file, { ...call.settings, format: file.format }), refText),
  );
}

/** The named ones of the copied icons; all without names. */
export async function chosen({ settings }: Call) {
  const list = await copied(settings.out);
  const names = new Set(settings.words.map((word) => refText(parseRef(word))));
  for (const file of list) names.delete(refText(file));
  const [missing] = names;
  if (missing) throw new Refusal(`${missing} is not in ${settings.out}`);
  const asked = new Set(settings.words);
  return asked.size ? list.filter((file) => asked.has(refText(file))) : list;
}

/** Runs a function for each element of a list, prints the errors, and returns their number. */
export async function each<T>(
  { terminal }: Call,
  list: T[],
  act: (one: T) => Promise<void>,
  name = String as (one: T) => string,
) {
  let failed = 0;
  for (const one of list) {
    try {
      await act(one);
    } catch (error) {
      failed++;
      terminal.fail(`${oneLine(name(one))}: ${(error as Error).message}`);
    }
  }
  return failed;
}

async function finish({ settings, terminal }: Call, failed: number): Promise<number> {
  if (!settings.dryRun) await keepLists(settings, terminal);
  return failed ? status.failed : status.done;
}

/** Fetches an icon, and refuses it where the config says that it must not be used. */
export async function fetched({ api, settings }: Call, ref: Ref): Promise<Icon> {
  const icon = await api.icon(ref);
  if (settings.commercial && !icon.commercial)
    throw new Refusal(`its license (${icon.license}) is not for commercial use, and the config asks for that`);
  return icon;
}

/** Writes one icon's file, unless it stands there already or was changed by hand. */
async function place(call: Call, ref: Ref, { out, format, dryRun, force }: Settings): Promise<void> {
  const { terminal } = call;
  const text = copy(await fetched(call, ref), format);
  const path = pathOf(out, ref, format);
  const stands = await standing(path, text);
  if (stands === 'same') return terminal.say(`same     ${path}`);
  if (stands === 'changed' && !force && !(await mayOverwrite(terminal, path, dryRun)))
    return terminal.say(`kept     ${path} (changed by hand; --force overwrites it)`);
  if (!dryRun) await write(path, text);
  terminal.say(`${dryRun ? 'would ' : ''}${stands === 'new' ? 'add     ' : 'update  '} ${path}`);
}

const mayOverwrite = async (terminal: Terminal, path: string, dryRun: boolean) =>
  !dryRun &&
  (await terminal.ask(`${path} was changed by hand. Overwrite it? (y/N)`, 'n')).toLowerCase().startsWith('y');
