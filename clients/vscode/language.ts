// References in documents: completion, hover, links, warnings with quick fixes, and the icons beside them.
import * as vscode from 'vscode';
import { address, before, dataURI, type Hit, type Icon, type Partial, type Reference } from '../core';
import { component, icons, written, type Component } from '../core/component';
import { isUnknown, type State } from '../core/library';
import { isDark, sentence, terms, visible, type Service } from './service';

const delay = 300; // ms from the last edit to the check of a document
const again = 20_000; // ms until a check that had to wait is tried again
const atOnce = 8; // names that are checked at the same time
const largest = 64 << 10; // characters of an SVG that is shown
const everywhere: vscode.DocumentSelector = ['file', 'untitled', 'vscode-vfs', 'vscode-remote'].map((scheme) => ({
  scheme,
}));

type Row = vscode.CompletionItem & { hit: Hit };

/** Completes names after a pack, by the API's search. */
class Completion implements vscode.CompletionItemProvider<Row> {
  constructor(readonly service: Service) {}

  async provideCompletionItems(document: vscode.TextDocument, at: vscode.Position, cancel: vscode.CancellationToken) {
    const { library } = this.service;
    const text = document.lineAt(at.line).text.slice(0, at.character);
    const only = this.service.settings(document).settings.packs;
    if (!before(text, () => true)) return this.#components(text, at, only, cancel);
    try {
      const typed = before(text, await library.packs());
      if (!typed || (only.length && !only.includes(typed.pack))) return;
      const stopped = () => cancel.isCancellationRequested;
      const hits = await library.complete(typed.pack, typed.name, stopped, (f) => this.service.tell(f));
      const range = new vscode.Range(at.line, typed.start, at.line, at.character);
      const rows = hits.map((hit, n) => this.#row(hit, typed, range, n, text.slice(typed.start)));
      return new vscode.CompletionList(rows, true);
    } catch (error) {
      return void this.service.tell(error);
    }
  }

  /** Completes a component such as FaHou by the icons of the pack of its form. */
  async #components(text: string, at: vscode.Position, only: string[], cancel: vscode.CancellationToken) {
    const word = /[A-Za-z][A-Za-z0-9]*$/.exec(text)?.[0] ?? '';
    const typed: Component | undefined = component(word);
    if (!typed || typed.name.length < 2) return undefined;
    const { library } = this.service;
    try {
      const has = await library.packs();
      const pack = typed.targets.find((t) => has(t.pack) && (!only.length || only.includes(t.pack)))?.pack;
      if (!pack) return undefined;
      const stopped = () => cancel.isCancellationRequested;
      const hits = await library.complete(pack, typed.name, stopped, (f) => this.service.tell(f));
      const range = new vscode.Range(at.line, at.character - word.length, at.line, at.character);
      const rows = hits.flatMap((hit, n) => {
        const label = written(typed, hit);
        return label ? [this.#item(hit, label, range, n, word)] : [];
      });
      return new vscode.CompletionList(rows, true);
    } catch (error) {
      return void this.service.tell(error);
    }
  }

  #row(hit: Hit, typed: Partial, range: vscode.Range, n: number, filterText: string): Row {
    return this.#item(hit, typed.prefix + hit.pack + typed.separator + hit.name, range, n, filterText);
  }

  #item(hit: Hit, label: string, range: vscode.Range, n: number, filterText: string): Row {
    const item = new vscode.CompletionItem(label, vscode.CompletionItemKind.Value);
    // filterText is what was typed, or VS Code would hide synonyms.
    const sortText = String(n).padStart(2, '0');
    return Object.assign(item, { hit, range, filterText, sortText, detail: terms(hit), insertText: label });
  }

  async resolveCompletionItem(item: Row): Promise<Row> {
    try {
      item.documentation = describe(await this.service.library.icon(item.hit.pack, item.hit.name), this.service);
    } catch (error) {
      item.documentation = sentence(error);
    }
    return item;
  }
}

/** Describes an icon: its picture, its name with a link, its licence and its credit. */
function describe(icon: Icon, service: Service): vscode.MarkdownString {
  const text = new vscode.MarkdownString();
  const name = `${icon.pack}/${icon.name}`;
  if (icon.svg.length <= largest) {
    const sized = icon.svg.replace(/^<svg\b[^>]*>/, (tag) => withSize(tag, 64));
    text.appendMarkdown(`![${name}](${dataURI(visible(sized, isDark()))})\n\n`);
  }
  text.appendMarkdown(`**[${name}](${address(icon, { cdn: icon.cdn ?? service.library.cdn })})**`);
  if (icon.alias) text.appendMarkdown(`, alias of ${icon.alias}`);
  text.appendMarkdown('\n\n').appendText('License: ' + terms(icon.credit));
  return text.appendMarkdown('\n\n').appendText('Credit: ' + icon.credit.attribution);
}

/** Returns the tag svg with another size: a picture beside text has the size that its tag says. */
const withSize = (tag: string, size: number): string =>
  tag.replace(/\s(width|height)="[^"]*"/g, '').replace(/^<svg/, `<svg width="${size}" height="${size}"`);

const rangeOf = (document: vscode.TextDocument, r: Reference): vscode.Range =>
  new vscode.Range(document.positionAt(r.start), document.positionAt(r.end));

/** Checks the references of open documents, warns about unknown names, and shows the icons of the others. */
class Checker implements vscode.CodeActionProvider {
  #problems = vscode.languages.createDiagnosticCollection('iconedge');
  #decoration = vscode.window.createTextEditorDecorationType({});
  #timers = new Map<string, ReturnType<typeof setTimeout>>();
  #close = new Map<string, string[]>();

  constructor(readonly service: Service) {}

  /** Plans a check of a document, instead of an earlier plan. */
  plan(document: vscode.TextDocument, wait = delay): void {
    if (!vscode.languages.match(everywhere, document)) return;
    const uri = document.uri.toString();
    clearTimeout(this.#timers.get(uri));
    this.#timers.set(
      uri,
      setTimeout(() => void this.#check(document), wait),
    );
  }

  forget(document: vscode.TextDocument): void {
    clearTimeout(this.#timers.get(document.uri.toString()));
    this.#timers.delete(document.uri.toString());
    this.#problems.delete(document.uri);
  }

  async #check(document: vscode.TextDocument): Promise<void> {
    const { version } = document;
    try {
      const found = await this.service.library.references(document.getText());
      const states = await this.#states(document, found);
      if (document.isClosed || document.version !== version) return; // a later check has the result
      const problems = found.flatMap((r) => this.#problem(document, r, states) ?? []);
      this.#problems.set(document.uri, problems);
      this.#decorate(document, found, states);
      const faults = [...states.values()].filter((s) => s.fault && !isUnknown(s.fault));
      if (faults[0]) this.service.tell(faults[0].fault);
      else if (found.length) this.service.succeeded();
      if (faults.length || [...states.values()].some((s) => s.wait)) this.plan(document, again);
    } catch (error) {
      this.service.tell(error);
    }
  }

  /** Checks each word once. */
  async #states(document: vscode.TextDocument, found: Reference[]) {
    const text = document.getText();
    const states = new Map<string, State>();
    const all = new Map(found.map((r) => [text.slice(r.start, r.end), r]));
    const left = [...all];
    const work = async () => {
      for (let next = left.shift(); next; next = left.shift())
        states.set(next[0], await this.service.library.check(next[1]));
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    return states;
  }

  #problem(document: vscode.TextDocument, r: Reference, states: Map<string, State>) {
    const range = rangeOf(document, r);
    const word = document.getText(range);
    const fault = states.get(word)?.fault;
    if (!isUnknown(fault)) return;
    const close = fault.close.map((name) => r.prefix + r.pack + r.separator + name);
    this.#close.set(word, close);
    const problem = new vscode.Diagnostic(range, fault.message, vscode.DiagnosticSeverity.Warning);
    return Object.assign(problem, { source: 'iconedge', code: 'unknown-icon' });
  }

  #decorate(document: vscode.TextDocument, found: Reference[], states: Map<string, State>): void {
    const on = vscode.workspace.getConfiguration('iconedge', document).get<boolean>('decorations');
    const picture = (svg: string, onDark: boolean) => {
      const sized = visible(svg, onDark).replace(/^<svg\b[^>]*>/, (tag) => withSize(tag, 14));
      return { before: { contentIconPath: vscode.Uri.parse(dataURI(sized)), margin: '0 3px 0 0' } };
    };
    const options = (on ? found : []).flatMap((r) => {
      const range = rangeOf(document, r);
      const svg = states.get(document.getText(range))?.svg;
      if (!svg || svg.length > largest) return [];
      return { range, renderOptions: { light: picture(svg, false), dark: picture(svg, true) } };
    });
    for (const editor of vscode.window.visibleTextEditors)
      if (editor.document === document) editor.setDecorations(this.#decoration, options);
  }

  /** Offers each close name instead of an unknown one. */
  provideCodeActions(document: vscode.TextDocument, _: vscode.Range, context: vscode.CodeActionContext) {
    return context.diagnostics
      .filter((d) => d.source === 'iconedge')
      .flatMap((problem) =>
        (this.#close.get(document.getText(problem.range)) ?? []).map((name, n) => {
          const action = new vscode.CodeAction('Replace by ' + name, vscode.CodeActionKind.QuickFix);
          action.edit = new vscode.WorkspaceEdit();
          action.edit.replace(document.uri, problem.range, name);
          return Object.assign(action, { diagnostics: [problem], isPreferred: n === 0 });
        }),
      );
  }

  dispose(): void {
    this.#timers.forEach((timer) => clearTimeout(timer));
    this.#problems.dispose();
    this.#decoration.dispose();
  }
}

export function language(service: Service): vscode.Disposable[] {
  const { languages, window, workspace } = vscode;
  const checker = new Checker(service);
  const visibleOnes = () => window.visibleTextEditors.forEach((e) => checker.plan(e.document));
  const hover = async (document: vscode.TextDocument, at: vscode.Position) => {
    try {
      const offset = document.offsetAt(at);
      const r = (await service.library.references(document.getText())).find(
        (r) => r.start <= offset && offset <= r.end,
      );
      if (r) return new vscode.Hover(await hoverText(service, r), rangeOf(document, r));
      return await hoverComponent(service, document, at);
    } catch (error) {
      return void service.tell(error);
    }
  };
  const links = async (document: vscode.TextDocument) => {
    const found = await service.library.references(document.getText()).catch(() => []);
    return found.map((r) => {
      const target = vscode.Uri.parse(address({ ...r, recolored: false }, { cdn: service.library.cdn }));
      const link = new vscode.DocumentLink(rangeOf(document, r), target);
      return Object.assign(link, { tooltip: `Open ${r.pack}/${r.name}` });
    });
  };
  visibleOnes();
  return [
    checker,
    languages.registerCompletionItemProvider(everywhere, new Completion(service), ':', '/', '-'),
    languages.registerHoverProvider(everywhere, { provideHover: hover }),
    languages.registerDocumentLinkProvider(everywhere, { provideDocumentLinks: links }),
    languages.registerCodeActionsProvider(everywhere, checker, {
      providedCodeActionKinds: [vscode.CodeActionKind.QuickFix],
    }),
    workspace.onDidChangeTextDocument((e) => checker.plan(e.document)),
    workspace.onDidCloseTextDocument((document) => checker.forget(document)),
    workspace.onDidChangeConfiguration(visibleOnes),
    window.onDidChangeVisibleTextEditors(visibleOnes),
  ];
}

const mostIcons = 5; // that a component may be, which are tried one after another

/** Describes the icon of a component such as FaHouse; nothing is said about other words. */
async function hoverComponent(service: Service, document: vscode.TextDocument, at: vscode.Position) {
  const range = document.getWordRangeAtPosition(at, /[A-Za-z][A-Za-z0-9]*/);
  const found = range && component(document.getText(range));
  if (!found) return undefined;
  const has = await service.library.packs();
  for (const { pack, name } of icons(found)
    .filter((icon) => has(icon.pack))
    .slice(0, mostIcons))
    try {
      return new vscode.Hover(describe(await service.library.icon(pack, name), service), range);
    } catch (error) {
      if (!isUnknown(error)) throw error;
    }
  return undefined;
}

async function hoverText(service: Service, r: Reference): Promise<vscode.MarkdownString | string> {
  try {
    return describe(await service.library.resolve(r), service);
  } catch (error) {
    if (isUnknown(error)) return sentence(error);
    throw error;
  }
}
