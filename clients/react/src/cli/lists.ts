import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { copied, standing, write, type Copied } from './files';
import { componentName } from './jsx/module';
import { refText } from './ref';
import { seal, unsealed } from './seal';
import type { Settings } from './settings';
import type { Terminal } from './terminal';

/** Writes the credits of all copied icons and, if the config has index, the index file. */
export async function keepLists({ out, index, force }: Settings, terminal: Terminal): Promise<void> {
  const list = await copied(out);
  await keep(join(out, 'CREDITS.txt'), credits(list), list.length === 0);
  const components = list.filter(({ format }) => format !== 'svg');
  for (const format of ['tsx', 'jsx'] as const) {
    const own = components.filter((icon) => icon.format === format);
    const path = join(out, format === 'tsx' ? 'index.ts' : 'index.js');
    // An existing index of this command is updated even without the option.
    if (index || (await standing(path, '')) === 'old') await keep(path, exported(own), own.length === 0);
  }

  async function keep(path: string, text: string, needless: boolean) {
    const stands = await standing(path, text);
    if (needless) return stands === 'old' ? rm(path) : undefined;
    if (stands === 'changed' && !force)
      return terminal.say(`kept     ${path} (changed by hand; --force overwrites it)`);
    if (stands !== 'same') await write(path, text);
  }
}

/** The credits, a paragraph for each attribution. Most licences require a product to show them. */
export function credits(list: Copied[]): string {
  const paragraphs = new Map<string, string[]>();
  for (const icon of list) {
    const credit = `${icon.attribution}\nlicense ${icon.license}`;
    paragraphs.set(credit, [...(paragraphs.get(credit) ?? []), refText(icon)]);
  }
  const text = [...paragraphs].map(([credit, names]) => `\n${credit}\n  ${names.join('\n  ')}\n`).join('');
  return seal(`Icons in this folder\n(${unsealed})\n${text}`);
}

/** A module that exports every component by its name. Repeated names get a number. */
export function exported(list: Copied[]): string {
  const names = new Set<string>();
  const lines = list.map(({ pack, name }) => {
    const wanted = componentName(pack, name);
    let free = wanted;
    for (let n = 2; names.has(free); n++) free = `${wanted}_${n}`;
    names.add(free);
    return `export { default as ${free} } from "./${pack}/${name}";\n`;
  });
  return seal(`// ${unsealed}\n${lines.join('')}`);
}
