import { parseArgs, type ParseArgsConfig } from 'node:util';
import { read } from './files';
import type { Format } from './jsx/module';
import { Refusal, status } from './refusal';

/** The name of the config file in the working folder. */
export const configFile = 'iconedge.json';

/** The content of the config file. */
export interface Config {
  api: string;
  out: string;
  format: Format;
  commercial: boolean; // reject icons that may not be used commercially
  index: boolean; // maintain an index file of the components
}

/** The settings of one call: the config, overridden by options, and the options that the config cannot have. */
export interface Settings extends Config {
  words: string[];
  dryRun: boolean;
  force: boolean;
  stroke: string; // the width of the strokes of added icons; empty: their own
  file: string; // output of types
}

/** The default address of `iconedge run`, on this machine. */
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
  stroke: { type: 'string' },
  file: { type: 'string' },
  'dry-run': { type: 'boolean' },
  force: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
} satisfies ParseArgsConfig['options'];

/** Parses the command line. */
export function parse(args: string[]) {
  try {
    return parseArgs({ args, options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new Refusal((error as Error).message.split('. ')[0]!, status.usage);
  }
}

/** Combines all settings: options override the environment, the environment the config file, and that the defaults. */
export async function settings(parsed: ReturnType<typeof parse>, env: NodeJS.ProcessEnv): Promise<Settings> {
  const { values, positionals } = parsed;
  const { 'dry-run': dryRun = false, force = false, stroke = '', file = 'src/iconedge-names.d.ts', ...given } = values;
  if (stroke && !(/^\d+(\.\d+)?$/.test(stroke) && +stroke >= 0.25 && +stroke <= 4))
    throw new Refusal('stroke must be a number from 0.25 to 4', status.usage);
  const config = checked(
    { ...(await configured()), ...(env.ICONEDGE_API ? { api: env.ICONEDGE_API } : {}), ...given },
    'an option',
  );
  return { ...defaults, ...config, words: positionals, dryRun, force, stroke, file };
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

/** Checks a config. Unknown keys are errors, because a misspelt key would be a rule without effect. */
function checked(config: Record<string, unknown>, where: string): Partial<Config> {
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(config ?? {})) {
    if (key === '$schema' || key === 'help' || key === 'version') continue;
    if (!(key in defaults)) throw new Refusal(`${where} has an unknown key ${JSON.stringify(key)}`, status.usage);
    const wanted = typeof defaults[key as keyof Config];
    if (typeof value !== wanted) throw new Refusal(`${where}: ${key} must be a ${wanted}`, status.usage);
    if (key === 'format' && !['tsx', 'jsx', 'svg'].includes(value as string))
      throw new Refusal('format must be tsx, jsx or svg', status.usage);
    if (value === '') throw new Refusal(`${where}: ${key} must not be empty`, status.usage);
    kept[key] = value;
  }
  return kept;
}
