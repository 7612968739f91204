import { parseArgs, type ParseArgsConfig } from 'node:util';
import { read } from './files';
import type { Format } from './jsx/module';
import { Refusal, status } from './refusal';

/** The name of the config file, looked for where the command is run. */
export const configFile = 'iconedge.json';

/** What the config file may say. */
export interface Config {
  api: string;
  out: string;
  format: Format;
  commercial: boolean; // refuse icons that may not be used commercially
  index: boolean; // keep an index file of the components
}

/** What one call is to do: the config with the call's options over it, and those that are of a call alone. */
export interface Settings extends Config {
  words: string[];
  dryRun: boolean;
  force: boolean;
  file: string; // of types
}

/** Where `iconedge run` listens: a host that nobody else holds. */
export const defaults: Config = {
  api: 'http://127.0.0.1:8080',
  out: 'src/icons',
  format: 'tsx',
  commercial: false,
  index: false,
};

export const options = {
  api: { type: 'string' },
  out: { type: 'string' },
  format: { type: 'string' },
  commercial: { type: 'boolean' },
  index: { type: 'boolean' },
  file: { type: 'string' },
  'dry-run': { type: 'boolean' },
  force: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
} satisfies ParseArgsConfig['options'];

/** Reads the words after the command's name. */
export function parse(args: string[]) {
  try {
    return parseArgs({ args, options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new Refusal((error as Error).message.split('. ')[0]!, status.usage);
  }
}

/** Puts together what was said: options win over the environment, that over the config file, that over the defaults. */
export async function settings(parsed: ReturnType<typeof parse>, env: NodeJS.ProcessEnv): Promise<Settings> {
  const { values, positionals } = parsed;
  const { 'dry-run': dryRun = false, force = false, file = 'src/iconedge-names.d.ts', ...said } = values;
  const config = checked(
    { ...(await configured()), ...(env.ICONEDGE_API ? { api: env.ICONEDGE_API } : {}), ...said },
    'an option',
  );
  return { ...defaults, ...config, words: positionals, dryRun, force, file };
}

async function configured(): Promise<Partial<Config>> {
  const text = await read(configFile);
  if (text === undefined) return {};
  try {
    return checked(JSON.parse(text), configFile);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal(`${configFile} is not JSON`, status.usage);
  }
}

/** Refuses what a config can't mean: a word misspelt would else be a rule that is not kept. */
function checked(config: Record<string, unknown>, where: string): Partial<Config> {
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(config ?? {})) {
    if (key === '$schema' || key === 'help' || key === 'version') continue;
    if (!(key in defaults))
      throw new Refusal(`${where} says ${JSON.stringify(key)}, which means nothing`, status.usage);
    const wanted = typeof defaults[key as keyof Config];
    if (typeof value !== wanted) throw new Refusal(`${where} gives ${key} no ${wanted}`, status.usage);
    if (key === 'format' && !['tsx', 'jsx', 'svg'].includes(value as string))
      throw new Refusal('format is tsx, jsx or svg', status.usage);
    if (value === '') throw new Refusal(`${where} gives ${key} nothing`, status.usage);
    kept[key] = value;
  }
  return kept;
}
