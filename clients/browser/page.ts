/**
 * Inserts a text at the caret of the page's field, so that one undo reverts it. It runs in the page, so it uses nothing
 * from outside of itself. It reports whether a field has the caret.
 */
export function insertIntoPage(text: string): boolean {
  let field = document.activeElement;
  for (;;) {
    const inner =
      field?.shadowRoot?.activeElement ??
      (field instanceof HTMLIFrameElement ? field.contentDocument?.activeElement : null);
    if (!inner) break;
    field = inner;
  }
  const page = field?.ownerDocument;
  if (!field || !page) return false;
  const editable =
    (field as HTMLElement).isContentEditable ||
    field.matches('textarea, input:not([type]), input:is([type=text], [type=search], [type=url])');
  if (!editable || field.matches(':disabled, :read-only:not([contenteditable])')) return false;
  (field as HTMLElement).focus();
  return page.execCommand('insertText', false, text);
}
