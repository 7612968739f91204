import type { Icon } from './api';
import { module, componentName, type Format } from './jsx/module';
import { render } from './jsx/render';
import { isKey, refText, type Ref } from './ref';
import { oneLine } from './refusal';
import { seal, unsealed } from './seal';

/** What a copied file says of itself in its first line. */
export interface Credit extends Ref {
  attribution: string;
  license: string;
}

/** Writes the file for an icon: its credit, and the drawing as a component or as it is. */
export function copy(icon: Icon, format: Format): string {
  const drawing = render(icon.svg); // refuses what is no drawing, whatever the format
  const link = icon.licenseUrl && ` (${icon.licenseUrl})`;
  const terms = icon.commercial ? '' : ', not for commercial use';
  const credit = oneLine(`${refText(icon)}: ${icon.attribution}, license ${icon.license}${link}${terms}`);
  if (format === 'svg') return seal(`${xmlComment(credit)}${xmlComment(unsealed)}${bare(icon.svg)}\n`);
  return seal(`// ${credit}\n// ${unsealed}\n${module(componentName(icon.pack, icon.name), drawing, format)}`);
}

// "--" would end a comment of XML (section 2.5), and a hyphen at its end would be part of one.
const xmlComment = (words: string) => `<!-- ${words.replace(/-(?=-)/g, '- ')} -->\n`;

/** A drawing without its XML declaration, which may stand at the very front alone (XML 1.0, section 2.8). */
const bare = (svg: string) =>
  svg
    .replace(/^\s*<\?xml\s[^]*?\?>/, '')
    .replace(/\r\n?/g, '\n')
    .trim();

/** Reads the credit of a copied file; undefined when it has none. */
export function credit(text: string): Credit | undefined {
  const match = /^(?:\/\/|<!--) ([a-z0-9-]+)\/([a-z0-9-]+): (.*), license (.*?)(?: -->)?\r?$/m.exec(
    text.split('\n', 1)[0]!,
  );
  const [, pack, name, attribution, license] = match ?? [];
  return isKey(pack) && isKey(name) ? { pack, name, attribution: attribution!, license: license! } : undefined;
}
