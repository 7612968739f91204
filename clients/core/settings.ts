import { validKey } from './reference';

export const forms = ['svg', 'react', 'css', 'url', 'datauri', 'name', 'png'] as const;
/** A form in which an icon is inserted. */
export type Form = (typeof forms)[number];

/** The settings of a plugin, under their names in every host. The token is not one of them: hosts store it as a secret. */
export interface Settings {
  baseUrl: string; // without a slash at its end
  insertAs: Form | 'auto';
  color: string; // #rrggbb, or empty
  size: number; // height in pixels, 1 to 4096; 0: the icon's own
  packs: string[]; // only these; empty: all
  commercialOnly: boolean;
  credit: boolean;
}

export const defaults: Readonly<Settings> = {
  baseUrl: 'http://127.0.0.1:8080',
  insertAs: 'auto',
  color: '',
  size: 0,
  packs: [],
  commercialOnly: false,
  credit: true,
};

/** Reads settings. Wrong ones keep their defaults; complaints are sentences about them, which repeat no value. */
export function readSettings(raw: { [name: string]: unknown }): { settings: Settings; complaints: string[] } {
  const settings = { ...defaults };
  const complaints: string[] = [];
  const take = <K extends keyof Settings>(key: K, read: (v: unknown) => Settings[K] | undefined, right: string) => {
    const value = raw[key];
    if (value === undefined || value === null || value === '') return;
    const taken = read(value);
    if (taken === undefined) complaints.push(`${key} must be ${right}.`);
    else settings[key] = taken;
  };
  const bool = (v: unknown) => (typeof v === 'boolean' ? v : undefined);
  take('baseUrl', parseBase, 'an http address such as ' + defaults.baseUrl);
  take('insertAs', (v) => (v === 'auto' ? v : forms.find((f) => f === v)), 'auto, ' + forms.join(', '));
  take('color', parseColor, 'a hex color, such as #ff0000');
  const whole = (v: unknown) =>
    Number.isInteger(v) && (v as number) >= 0 && (v as number) <= 4096 ? (v as number) : undefined;
  take('size', whole, 'a whole number from 1 to 4096');
  const keys = (v: unknown) => (Array.isArray(v) && v.every(validKey) ? [...(v as string[])] : undefined);
  take('packs', keys, 'a list of packs, such as mdi');
  for (const key of ['commercialOnly', 'credit'] as const) take(key, bool, 'true or false');
  return { settings, complaints };
}

/** Returns a base address without its last slash, or undefined if it is none. */
export const parseBase = (v: unknown): string | undefined =>
  typeof v === 'string' && URL.canParse(v) && /^https?:\/\/[^?#@\s"\\]+$/i.test(v) ? v.replace(/\/+$/, '') : undefined;

/** Returns #rrggbb or #rrggbbaa in lower case for a hex colour of 3, 4, 6 or 8 digits, with or without #. */
export function parseColor(v: unknown): string | undefined {
  const digits = /^#?((?:[0-9a-f]{3,4}){1,2})$/i.exec(String(v))?.[1]?.toLowerCase();
  if (!digits || digits.length === 7) return;
  const long = digits.length < 6 ? digits.replace(/./g, '$&$&') : digits;
  return '#' + (long.length === 8 && long.endsWith('ff') ? long.slice(0, 6) : long);
}
