import type { Call } from './add';
import { read, write } from './files';
import { Refusal, status } from './refusal';
import { configFile, defaults, type Config } from './settings';

/** Writes the config file from the options. On a terminal it asks the user to confirm or change each value. */
export async function init({ settings, terminal }: Call): Promise<number> {
  if ((await read(configFile)) !== undefined && !settings.force)
    throw new Refusal(`${configFile} exists already; --force overwrites it`);
  const config: Record<string, unknown> = {};
  for (const key of Object.keys(defaults) as (keyof Config)[]) {
    const preset = settings[key];
    const answer = await terminal.ask(`${questions[key]} (${preset})`, String(preset));
    config[key] = typeof preset === 'boolean' ? /^(y|true)/i.test(answer) : answer;
  }
  if (!['tsx', 'jsx', 'svg'].includes(config.format as string))
    throw new Refusal('format is tsx, jsx or svg', status.usage);
  if (!settings.dryRun) await write(configFile, JSON.stringify(config, null, 2) + '\n');
  terminal.say(`${settings.dryRun ? 'would write' : 'wrote'} ${configFile}`);
  return status.done;
}

const questions: Record<keyof Config, string> = {
  api: "The service's address, before /api/v1?",
  out: 'Folder for the icons?',
  format: 'Format: tsx, jsx or svg?',
  commercial: 'Refuse icons that may not be used commercially?',
  index: 'Maintain an index file of all components?',
};
