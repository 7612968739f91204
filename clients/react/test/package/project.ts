import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';

export const root = resolve(import.meta.dirname, '../..');
export const run = promisify(execFile);

/** The output of npm pack. */
export interface Packed {
  tarball: string;
  unpackedSize: number;
  files: { path: string; mode: number }[];
}

/** Packs the package into a folder. */
export async function pack(folder: string): Promise<Packed> {
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
    cwd: root,
  });
  const [packed] = JSON.parse(stdout) as [
    { filename: string; unpackedSize: number; files: { path: string; mode: number }[] },
  ];
  return { ...packed, tarball: join(folder, packed.filename.replace('@', '').replace('/', '-')) };
}

/** An empty project of a user. Its npm packages are those of this package. */
export async function project(files: Record<string, string> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'iconedge-react-'));
  const write = async (path: string, text: string) => {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  };
  for (const [path, text] of Object.entries(files)) await write(path, text);
  return {
    folder,
    write,
    read: (path: string) => readFile(join(folder, path), 'utf8'),
    remove: () => rm(folder, { recursive: true }),
    /** Links a package into the project's node_modules, under another name if given. */
    async link(from: string, name = from) {
      await mkdir(dirname(join(folder, 'node_modules', name)), { recursive: true });
      await symlink(join(root, 'node_modules', from), join(folder, 'node_modules', name));
    },
    /** Copies a package, so that its imports are resolved in the project. */
    async copy(from: string, name: string) {
      await cp(join(root, 'node_modules', from), join(folder, 'node_modules', name), { recursive: true });
    },
    /** Unpacks the tarball as npm install does. */
    async unpack(tarball: string) {
      const target = join(folder, 'node_modules/@iconedge/react');
      await mkdir(target, { recursive: true });
      await run('tar', ['-xzf', tarball, '-C', target, '--strip-components=1']);
    },
  };
}
