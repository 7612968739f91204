// The service as the editor uses it: settings, the token, and the messages about failures.
import * as vscode from 'vscode';
import { Client, Fault, readSettings, type Settings } from '../core';
import { Library } from '../core/library';
import { secretFor, tokenFor, type Secret } from '../core/secret';

export class Service {
  client!: Client;
  library!: Library;
  #told = '';

  constructor(readonly context: vscode.ExtensionContext) {}

  /** Reads settings and token anew. A change to another origin deletes the token. */
  async load(): Promise<void> {
    const { settings, complaints } = this.settings();
    const secret = await this.#secret();
    const token = tokenFor(secret, settings.baseUrl);
    if (secret && !token) await this.context.secrets.delete('token');
    const agent = `iconedge-vscode/${String((this.context.extension.packageJSON as { version: string }).version)}`;
    this.client = new Client({ settings, token, agent });
    this.library = new Library(this.client);
    this.#told = '';
    if (complaints.length) void vscode.window.showWarningMessage('Iconedge: ' + complaints.join(' '));
  }

  /** Returns the settings for a document. The address is the user's, whatever a folder says. */
  settings(scope?: vscode.TextDocument): { settings: Settings; complaints: string[] } {
    const of = vscode.workspace.getConfiguration('iconedge', scope);
    const names = ['insertAs', 'color', 'size', 'packs', 'commercialOnly', 'credit'];
    const address = of.inspect<string>('baseUrl');
    const baseUrl = address?.globalValue ?? address?.defaultValue;
    return readSettings({ ...Object.fromEntries(names.map((name) => [name, of.get(name)])), baseUrl });
  }

  async setToken(token: string): Promise<void> {
    const { secrets } = this.context;
    if (token) await secrets.store('token', JSON.stringify(secretFor(token, this.client.host.settings.baseUrl)));
    else await secrets.delete('token');
    await this.load();
  }

  async #secret(): Promise<Secret | undefined> {
    const text = await this.context.secrets.get('token');
    return text === undefined ? undefined : (JSON.parse(text) as Secret);
  }

  /** Shows a failure to the user: one sentence, once until something succeeds or fails in another way. */
  tell(error: unknown): void {
    const kind = error instanceof Fault ? String(error.status) : 'other';
    if (this.#told !== kind) void vscode.window.showWarningMessage(sentence(error));
    this.#told = kind;
  }

  succeeded(): void {
    this.#told = '';
  }
}

/** Returns what to say about a failure; an unexpected one is in the log of the extension host. */
export function sentence(error: unknown): string {
  if (error instanceof Fault) return error.message;
  console.error(error);
  return "The icon can't be used in this form.";
}

/** The licence of an icon, with "non-commercial" in words. */
export const terms = (of: { license: string; commercialUse: boolean }): string =>
  of.license + (of.commercialUse ? '' : ' (non-commercial)');

export const isDark = (): boolean =>
  [vscode.ColorThemeKind.Dark, vscode.ColorThemeKind.HighContrast].includes(vscode.window.activeColorTheme.kind);

/** Returns an icon for dark or light ground: a preview has no text whose colour it could take. */
export const visible = (svg: string, dark: boolean): string =>
  svg.replaceAll('currentColor', dark ? '#d4d4d4' : '#333333');
