// The address bar's keyword, and the entries of the context menu.
import { Search, type Client } from '../core';
import { open } from './store';

let client: Client | undefined;
let suggest: (suggestions: chrome.omnibox.SuggestResult[]) => void = () => undefined;
let shown: { query: string; urls: string[] } = { query: '', urls: [] };
let entered: string | undefined; // a text whose first icon is opened as soon as the search has ended

const escape = (s: string) => s.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const openTab = (url: string | undefined) => url && void chrome.tabs.create({ url });

const search = new Search(
  () => client!,
  ({ query, hits, says }) => {
    chrome.omnibox.setDefaultSuggestion({ description: escape(says) });
    if (!hits) return;
    const suggestions = hits
      .slice(0, 6)
      .map((h) => ({
        content: `${h.cdn}/${h.pack}/${h.name}.svg`,
        description: escape(`${h.pack}/${h.name} (${h.license}${h.commercialUse ? '' : ', non-commercial'})`),
      }));
    shown = { query, urls: suggestions.map((s) => s.content) };
    suggest(suggestions);
    if (entered === query) openTab(shown.urls[0]);
  },
);

chrome.omnibox.onInputStarted.addListener(() => void open().then((c) => (client = c)));
chrome.omnibox.onInputChanged.addListener((text, show) => {
  suggest = show;
  entered = undefined;
  void Promise.resolve(client ?? open()).then((c) => {
    client = c;
    search.type(text);
  });
});
chrome.omnibox.onInputEntered.addListener((text) => {
  if (shown.urls.includes(text)) openTab(text);
  else if (shown.query === text.trim()) openTab(shown.urls[0]);
  else entered = text.trim();
});

chrome.runtime.onInstalled.addListener(() => {
  chrome.contextMenus.create({ id: 'insert', title: 'Insert an icon…', contexts: ['editable'] });
  chrome.contextMenus.create({ id: 'search', title: 'Search icons for “%s”', contexts: ['selection'] });
});
chrome.contextMenus.onClicked.addListener((info) => {
  void chrome.action.openPopup();
  if (info.menuItemId === 'search') void chrome.storage.session.set({ query: info.selectionText });
});
