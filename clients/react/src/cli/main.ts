#!/usr/bin/env node
import { setTimeout as sleep } from 'node:timers/promises';
import { version } from '../../package.json';
import { add, update, type Call } from './add';
import { Api } from './api';
import { help } from './help';
import { init } from './init';
import { Refusal, status } from './refusal';
import { parse, settings } from './settings';
import { diff, list, remove } from './copied';
import { terminal } from './terminal';
import { types } from './types';

const commands = new Map<string, (call: Call) => Promise<number>>(
  Object.entries({ init, add, list, diff, update, remove, types }),
);

async function run(args: string[]): Promise<number> {
  const parsed = parse(args);
  if (parsed.values.version) terminal.say(version);
  if (parsed.values.help) terminal.say(help);
  if (parsed.values.version || parsed.values.help) return status.done;
  const name = parsed.positionals.shift();
  const command = commands.get(name ?? '');
  if (!command)
    throw new Refusal(
      `${name ? `there is no command ${JSON.stringify(name)}` : 'no command given'}; see --help`,
      status.usage,
    );
  const chosen = await settings(parsed, process.env);
  const world = { fetch, sleep, say: terminal.fail };
  return command({ settings: chosen, api: new Api(chosen.api, process.env.ICONEDGE_LICENSE_TOKEN, world), terminal });
}

run(process.argv.slice(2)).then(
  (code) => (process.exitCode = code),
  (error: Error & { status?: number }) => {
    terminal.fail(error.message);
    process.exitCode = error instanceof Refusal ? error.status : status.failed;
  },
);
