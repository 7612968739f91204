import * as vscode from 'vscode';
import { commands } from './insert';
import { language } from './language';
import { Service } from './service';

/** Starts the extension. It makes no request before the first search or reference. */
export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const service = new Service(context);
  await service.load();
  context.subscriptions.push(
    vscode.workspace.onDidChangeConfiguration(async (e) => {
      if (e.affectsConfiguration('iconedge')) await service.load();
    }),
    ...commands(service),
    ...language(service),
  );
}
