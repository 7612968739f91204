import type { Icon } from './api';
import { module, componentName, type Format } from './jsx/module';
import { render } from './jsx/render';
import { isKey, refText, type Ref } from './ref';
import { oneLine } from './refusal';
import { seal, unsealed } from './seal';

/** The credit in the first line of a copied file. */
export interface Credit extends Ref {
  attribution: string;
  license: string;
}

/** Returns the file for an icon: its credit, and the SVG as a component or unchanged. */
export function copy(icon: Icon, format: Format): string {
  const jsx = render(icon.svg); // rejects an unsafe SVG, whatever the format
  const link = icon.licenseUrl && ` (${icon.licenseUrl})`;
  const terms = icon.commercial ? '' : ', not for commercial use';
  const stroke = icon.stroke ? `?stroke=${icon.stroke}` : ''; // update keeps it
  const credit = oneLine(`${refText(icon)}${stroke}: ${icon.attribution}, license ${icon.license}${link}${terms}`);
  if (format === 'svg') return seal(`${xmlComment(credit)}${xmlComment(unsealed)}${bare(icon.svg)}\n`);
  return seal(`// ${credit}\n// ${unsealed}\n${module(componentName(icon.pack, icon.name), jsx, format)}`);
}

// "--" is not allowed in an XML comment (section 2.5), nor is a hyphen at its end.
const xmlComment = (words: string) => `<!-- ${words.replace(/-(?=-)/g, '- ')} -->\n`;

/** An SVG without its XML declaration, which is only allowed at the very beginning of a file (XML 1.0, section 2.8). */
const bare = (svg: string) =>
  svg
    .replace(/^\s*<\?xml\s[^]*?\?>/, '')
    .replace(/\r\n?/g, '\n')
    .trim();

/** Parses the credit of a copied file; undefined if there is none. */
export function credit(text: string): Credit | undefined {
  const match =
    /^(?:\/\/|<!--) ([a-z0-9-]+)\/([a-z0-9-]+)(?:\?stroke=([\d.]+))?: (.*), license (.*?)(?: -->)?\r?$/m.exec(
      text.split('\n', 1)[0]!,
    );
  const [, pack, name, stroke, attribution, license] = match ?? [];
  return isKey(pack) && isKey(name) ? { pack, name, stroke, attribution: attribution!, license: license! } : undefined;
}
