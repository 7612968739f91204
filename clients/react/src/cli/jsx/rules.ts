import {
  attributes as attributeNames,
  cssProperties as cssPropertyNames,
  cssWords as cssWordLists,
  elements as elementNames,
  forbiddenTargets as forbiddenNames,
  keywords as keywordLists,
  rootOmits as omittedNames,
  styled as styledNames,
  texts as textNames,
} from './rules.json';

// The allow-lists of the renderer and the names in React. The file is a copy of clients/go/react/rules.json, which `make golden` writes.
// The calls are marked as pure so that the plugins' core, which only checks SVGs, gets only the lists that it uses.
export const elements = /* @__PURE__ */ new Set(elementNames);
export const texts = /* @__PURE__ */ new Set(textNames);
export const rootOmits = /* @__PURE__ */ new Set(omittedNames);
export const forbiddenTargets = /* @__PURE__ */ new Set(forbiddenNames);
export const styled = /* @__PURE__ */ new Set(styledNames);
export const cssProperties = /* @__PURE__ */ new Set(cssPropertyNames);
export const attributes = /* @__PURE__ */ new Map(/* @__PURE__ */ Object.entries(attributeNames));
export const keywords = /* @__PURE__ */ new Map<string, string[]>(/* @__PURE__ */ Object.entries(keywordLists));
export const cssWords = /* @__PURE__ */ new Map<string, string[]>(/* @__PURE__ */ Object.entries(cssWordLists));

/** Whether value is one of words; undefined allows every value. */
export const allowed = (words: string[] | undefined, value: string) => !words || words.includes(value);
