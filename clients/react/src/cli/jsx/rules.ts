import data from './rules.json';

// The allow-lists of the renderer and the names in React. The file is a copy of client/react/rules.json, which `make golden` writes.
export const elements = new Set(data.elements);
export const texts = new Set(data.texts);
export const rootOmits = new Set(data.rootOmits);
export const forbiddenTargets = new Set(data.forbiddenTargets);
export const styled = new Set(data.styled);
export const cssProperties = new Set(data.cssProperties);
export const attributes = new Map(Object.entries(data.attributes));
export const keywords = new Map<string, string[]>(Object.entries(data.keywords));
export const cssWords = new Map<string, string[]>(Object.entries(data.cssWords));

/** Whether value is one of words; undefined allows every value. */
export const allowed = (words: string[] | undefined, value: string) => !words || words.includes(value);
