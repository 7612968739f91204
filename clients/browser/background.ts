// The address bar's keyword, and the entries of the context menu.
import { Search, type Client } from '../core';
import { open } from './store';

let client: Client | undefined;
let suggest: (suggestions: chrome.omnibox.SuggestResult[]) => void = () => undefined;
let found: string[] = []; // addresses of the last suggestions

const escape = (s: string) => s.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

const search = new Search(
  () => client!,
  ({ hits, says }) => {
    chrome.omnibox.setDefaultSuggestion({ description: escape(says) });
    if (!hits) return;
    const shown = hits
      .slice(0, 6)
      .map((h) => ({
        content: `${h.cdn}/${h.pack}/${h.name}.svg`,
        description: escape(`${h.pack}/${h.name} (${h.license}${h.commercialUse ? '' : ', non-commercial'})`),
      }));
    found = shown.map((s) => s.content);
    suggest(shown);
  },
);

chrome.omnibox.onInputStarted.addListener(() => void open().then((c) => (client = c)));
chrome.omnibox.onInputChanged.addListener((text, show) => {
  suggest = show;
  void Promise.resolve(client ?? open()).then((c) => {
    client = c;
    search.type(text);
  });
});
chrome.omnibox.onInputEntered.addListener((text) => {
  const url = found.includes(text) ? text : found[0];
  if (url) void chrome.tabs.create({ url });
});

chrome.runtime.onInstalled.addListener(() => {
  chrome.contextMenus.create({ id: 'insert', title: 'Insert an icon…', contexts: ['editable'] });
  chrome.contextMenus.create({ id: 'search', title: 'Search icons for “%s”', contexts: ['selection'] });
});
chrome.contextMenus.onClicked.addListener((info) => {
  void chrome.action.openPopup();
  if (info.menuItemId === 'search') void chrome.storage.session.set({ query: info.selectionText });
});
