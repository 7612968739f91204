import type { Call } from './add';
import { standing, write } from './files';
import { isKey } from './ref';
import { Refusal, status } from './refusal';
import { seal, unsealed } from './seal';

/** Writes a declaration of the names in packs; TypeScript then checks pack and name of `<Icon>`. */
export async function types({ settings, api, terminal }: Call): Promise<number> {
  const packs = [...new Set(settings.words)].sort();
  if (!packs.length)
    throw new Refusal('types needs the key of a pack, for example: iconedge-react types mdi', status.usage);
  const names: Record<string, string[]> = {};
  for (const pack of packs) {
    if (!isKey(pack)) throw new Refusal(`${JSON.stringify(pack)} is not the key of a pack`);
    names[pack] = await api.names(pack);
  }
  const text = declaration(names);
  const stands = await standing(settings.file, text);
  if (stands === 'changed' && !settings.force)
    throw new Refusal(`${settings.file} differs and was not written by this command; --force overwrites it`);
  if (!settings.dryRun && stands !== 'same') await write(settings.file, text);
  terminal.say(`${settings.dryRun ? 'would write' : 'wrote'} ${settings.file}`);
  return status.done;
}

/** The declaration. Names are keys (see isKey), so they are safe in a string of TypeScript. */
export function declaration(names: Record<string, string[]>): string {
  const packs = Object.entries(names).map(
    ([pack, list]) => `    "${pack}":\n${list.map((name) => `      | "${name}"\n`).join('') || '      never\n'}`,
  );
  const body = packs.map((pack) => pack.trimEnd() + ';\n').join('');
  return seal(
    `// ${unsealed}\nimport "@iconedge/react";\n\ndeclare module "@iconedge/react" {\n  interface IconNames {\n${body}  }\n}\n`,
  );
}
