// The commands: a search as the user types, and the insertion of the chosen icon at every caret.
import * as vscode from 'vscode';
import {
  choose,
  dataURI,
  find,
  forms,
  insert,
  Search,
  words,
  write,
  type Form,
  type Hit,
  type Reference,
} from '../core';
import { component } from '../core/react';
import { isDark, sentence, terms, visible, type Service } from './service';

// VS Code takes Enter with any other key for Enter, so the form has a button, and a key of its own.
const formButton = { iconPath: new vscode.ThemeIcon('settings'), tooltip: 'Choose the form (F2)' };

interface Row extends vscode.QuickPickItem {
  hit: Hit;
}

let agreed = false;
let chooseForm: (() => Promise<void>) | undefined;

export function commands(service: Service): vscode.Disposable[] {
  return [
    vscode.commands.registerCommand('iconedge.insert', () => pick(service)),
    vscode.commands.registerCommand('iconedge.replace', () => replace(service)),
    vscode.commands.registerCommand('iconedge.chooseForm', () => chooseForm?.()),
    vscode.commands.registerCommand('iconedge.setToken', async () => {
      const { origin } = new URL(service.client.host.settings.baseUrl);
      const token = await vscode.window.showInputBox({
        prompt: `License token for ${origin}; empty deletes it`,
        password: true,
        ignoreFocusOut: true,
      });
      if (token !== undefined) await service.setToken(token.trim());
    }),
  ];
}

async function replace(service: Service): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (!editor) return;
  const caret = editor.selection.active;
  try {
    const line = editor.document.lineAt(caret.line).text;
    const packs = find(line, () => true).length ? await service.library.packs() : () => false;
    const at = find(line, packs).find((r) => r.start <= caret.character && caret.character <= r.end);
    if (at) return await pick(service, at);
  } catch (error) {
    return void vscode.window.showWarningMessage(sentence(error));
  }
  void vscode.window.showInformationMessage('There is no name of an icon at the caret.');
}

/** Lets the user choose an icon, and inserts it, or puts it in the place of a reference. */
async function pick(service: Service, old?: Reference): Promise<void> {
  const field = vscode.window.createQuickPick<Row>();
  let active: Row | undefined; // while the list is painted, the field has none
  field.placeholder = 'Search icons';
  field.title = 'Iconedge: Insert Icon';
  // The order is that of the search. VS Code would sort by the letters that labels and text have in common.
  Object.assign(field, { sortByLabel: false });
  const show = (hits: Hit[]) => {
    // alwaysShow, because synonyms have no letter of the text
    const more = { alwaysShow: true, buttons: [formButton] };
    const rows = hits.map((hit) => ({ label: `${hit.pack}/${hit.name}`, description: terms(hit), hit, ...more }));
    [field.items, active] = [rows, rows[0]];
    void previews(service, rows).then(() => {
      if (field.items[0] !== rows[0]) return; // the rows of another search are shown
      field.keepScrollPosition = true;
      const old = active;
      field.items = [...rows];
      if (old) field.activeItems = [old];
    });
  };
  const search = new Search(
    () => service.client,
    ({ hits, says }) => {
      if (hits) show(service.library.learn(hits));
      field.title = 'Iconedge: ' + says;
      field.busy = false;
    },
  );
  field.onDidChangeValue((text) => {
    field.busy = text.trim().length >= 2;
    search.type(text);
  });
  const ask = async (row: Row | undefined) => {
    const form = row && (await vscode.window.showQuickPick([...forms], { title: row.label }));
    if (form) await place(service, row.hit, form as Form, old);
  };
  field.onDidChangeActive(([row]) => (active = row ?? active));
  chooseForm = () => ask(active);
  field.onDidTriggerItemButton(({ item }) => ask(item));
  field.onDidAccept(async () => {
    field.hide();
    if (active) await place(service, active.hit, undefined, old);
  });
  field.onDidHide(() => {
    search.stop();
    field.dispose();
    chooseForm = undefined;
    void vscode.commands.executeCommand('setContext', 'iconedge.picking', false);
  });
  await vscode.commands.executeCommand('setContext', 'iconedge.picking', true);
  field.show();
  if (old) {
    field.value = old.name.replaceAll('-', ' ');
    search.type(field.value);
  }
}

/** Fetches the icons of rows. VS Code refuses http: pictures, so they are given as data:. */
async function previews(service: Service, rows: Row[]): Promise<void> {
  const dark = isDark();
  await Promise.allSettled(
    rows.map(async (row) => {
      row.iconPath = vscode.Uri.parse(dataURI(visible(await service.client.preview(row.hit), dark)));
    }),
  );
}

/** Asks once a session before a non-commercial icon is used. */
async function confirmed(name: string, license: string, commercialUse: boolean): Promise<boolean> {
  if (commercialUse || agreed) return true;
  const question = `${name} is licensed ${license}: non-commercial use only. Insert it?`;
  agreed = (await vscode.window.showWarningMessage(question, { modal: true }, 'Insert')) === 'Insert';
  return agreed;
}

async function place(service: Service, hit: Hit, form: Form | undefined, old?: Reference): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const { settings } = service.settings(editor?.document);
  const options = { ...settings, cdn: hit.cdn, component };
  try {
    let icon = await service.library.icon(hit.pack, hit.name, settings);
    if (!(await confirmed(`${hit.pack}/${hit.name}`, icon.credit.license, icon.credit.commercialUse))) return;
    const chosen = form ?? settings.insertAs;
    const id = freePrefix(icon.svg, editor?.document.getText() ?? '');
    if (id && choose(chosen, editor!.document.languageId) === 'svg')
      icon = await service.library.icon(hit.pack, hit.name, { ...settings, id });
    const text =
      old && chosen === 'auto'
        ? write('name', icon, { ...options, prefix: old.prefix, separator: old.separator })
        : insert(chosen, editor?.document.languageId ?? '', icon, options);
    if (!editor) await vscode.env.clipboard.writeText(text);
    else if (!(await edit(editor, text, old))) throw new Error();
    vscode.window.setStatusBarMessage(`${editor ? 'Inserted' : 'Copied'} ${words(icon)}`, 10_000);
  } catch (error) {
    void vscode.window.showWarningMessage(sentence(error));
  }
}

/**
 * Returns the prefix that makes the ids of an SVG differ from all of a document; empty: they do already. A browser takes
 * the first element of an id, so a second copy of an icon would have the gradients of the first.
 */
function freePrefix(svg: string, text: string): string {
  const ids = Array.from(svg.matchAll(/ id="([^"]+)"/g), (m) => m[1]!);
  let prefix = '';
  for (let n = 2; ids.some((id) => text.includes(` id="${prefix}${id}"`)); n++) prefix = `c${n}_`;
  return prefix;
}

/** Replaces every selection, or a reference on the line of the caret, in one step for undo. */
function edit(editor: vscode.TextEditor, text: string, old?: Reference): Thenable<boolean> {
  const { line } = editor.selection.active;
  const at = old ? [new vscode.Range(line, old.start, line, old.end)] : editor.selections;
  return editor.edit((e) => at.forEach((range) => e.replace(range, text)));
}
