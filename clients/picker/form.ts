// The fields of the settings, which have the ids of their names.
import { readSettings, type Settings } from '../core';
import { get } from './picker';

/** Shows settings in the fields. A page without one of the texts has it in its build. */
export function fill(s: Settings): void {
  for (const key of ['baseUrl', 'insertAs', 'color'] as const) {
    const field = get(key) as HTMLInputElement | null;
    if (field) field.value = s[key];
  }
  get<HTMLInputElement>('size').value = s.size ? String(s.size) : '';
  get<HTMLInputElement>('packs').value = s.packs.join(' ');
  for (const key of ['commercialOnly', 'credit'] as const) get<HTMLInputElement>(key).checked = s[key];
}

/** Reads the fields. Complaints are sentences about wrong ones. */
export function read(): { settings: Settings; complaints: string[] } {
  const text = (key: string) => (get(key) as HTMLInputElement | null)?.value.trim() ?? '';
  return readSettings({
    ...Object.fromEntries(['baseUrl', 'insertAs', 'color'].map((key) => [key, text(key)])),
    size: text('size') ? Number(text('size')) : '',
    packs: text('packs')
      .split(/[\s,]+/)
      .filter(Boolean),
    commercialOnly: get<HTMLInputElement>('commercialOnly').checked,
    credit: get<HTMLInputElement>('credit').checked,
  });
}
