import { mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import { credit, type Credit } from './copy';
import type { Format } from './jsx/module';
import { isKey, type Ref } from './ref';
import { intact } from './seal';

/** A file compared with its new content: missing, equal, unchanged since this command wrote it, or changed by hand. */
export type Standing = 'new' | 'same' | 'old' | 'changed';

/** A copied icon in the folder. */
export interface Copied extends Credit {
  path: string;
  text: string;
  format: Format;
}

/** The path of a copied icon. Each pack has a folder, so no two icons share a file. */
export const pathOf = (out: string, { pack, name }: Ref, format: Format) => join(out, pack, `${name}.${format}`);

/** Reads a file; undefined if it does not exist. */
export async function read(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Compares a file with its new content. */
export async function standing(path: string, next: string): Promise<Standing> {
  const now = await read(path);
  if (now === undefined) return 'new';
  if (now.replace(/\r\n/g, '\n') === next) return 'same';
  return intact(now) ? 'old' : 'changed';
}

/** Writes a file atomically: readers see the old or the new content (rename, POSIX.1-2017). */
export async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const part = join(dirname(path), `.${randomUUID()}.part`);
  try {
    await writeFile(part, text, { flag: 'wx' });
    await rename(part, path);
  } finally {
    await rm(part, { force: true });
  }
}

/** The icons in a folder, in the order of their names. */
export async function copied(out: string): Promise<Copied[]> {
  const list: Copied[] = [];
  for (const pack of (await entries(out)).filter(isKey)) {
    for (const file of await entries(join(out, pack))) {
      const [, name, format] = /^(.*)\.(tsx|jsx|svg)$/.exec(file) ?? [];
      const path = join(out, pack, file);
      const text = isKey(name) ? await read(path) : undefined;
      const said = text && credit(text);
      if (said && said.pack === pack && said.name === name)
        list.push({ ...said, path, text, format: format as Format });
    }
  }
  return list;
}

async function entries(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).sort();
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return [];
    throw error;
  }
}
