/**
 * The core of the plugins in TypeScript. It makes no decision about a host: it has no DOM, no storage and no dependency.
 *
 *     const client = new Client({ settings: readSettings(raw).settings, token, agent: 'iconedge-vscode/1.0.0' });
 *     const search = new Search(() => client, ({ hits, says }) => { … });
 *     field.oninput = () => search.type(field.value);
 *     const icon = await client.icon('mdi', 'home');
 *     insert('auto', 'html', icon, { cdn, credit: true }); // the text, with its credit
 *
 * A change of settings makes a new Client. Failures are Faults, with one sentence for the user.
 */
export { Client, Fault, type Hit, type Host, type Variant } from './client';
export { line, phrase, type Credit } from './credit';
export { address, choose, dataURI, insert, words, write, type Icon, type Options } from './output';
export { before, find, validKey, type Packs, type Partial, type Reference } from './reference';
export { Search, type Show } from './search';
export { defaults, forms, parseColor, readSettings, type Form, type Settings } from './settings';
export { checkSVG } from './svg';
