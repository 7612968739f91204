// One token of XML 1.0: what is passed over (comment, declaration), CDATA, an end, a start, or text. It is sticky: where it
// does not match there is no XML, and nothing is ever skipped to find the next tag. A DOCTYPE is refused with the rest.
const token =
  /<(?:!--[^]*?--|\?xml[ \t\r\n][^]*?\?)>|<!\[CDATA\[([^]*?)]]>|<\/([^ \t\r\n<>]+)[ \t\r\n]*>|<([^ \t\r\n<>/!?]+)((?:[ \t\r\n]+[^ \t\r\n<>=/]+[ \t\r\n]*=[ \t\r\n]*(?:"[^"<]*"|'[^'<]*'))*)[ \t\r\n]*(\/?)>|((?:(?!]]>)[^<])+)/y;
const attribute = /([^ \t\r\n=]+)[ \t\r\n]*=[ \t\r\n]*(["'])(.*?)\2/gs;
const entities = { __proto__: null, amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" } as unknown as Record<
  string,
  string
>;

/** Says that a text is no XML: all errors of a reading are this one, or the engine's own of a character beyond Unicode. */
export function refuse(): never {
  throw Error('no SVG');
}

/** Puts in what XML's own references stand for; an entity that a DOCTYPE would have to declare is refused. */
const decode = (text: string) =>
  text.replace(/&(?:#(\d+|x[\da-fA-F]+)|(\w+));|&/g, (_, number: string, word: string) =>
    number ? String.fromCodePoint(+('0' + number)) : (entities[word] ?? refuse()),
  );

/**
 * Reads a document that must be well-formed, and tells its parts as they come. It needs no DOM and makes nothing that could
 * run or load: a DOMParser reports every style attribute, and its own page of errors, to a Content-Security-Policy.
 */
export function scan(
  xml: string,
  start: (name: string, attributes: [name: string, value: string][]) => void,
  end: () => void,
  text: (words: string) => void,
): void {
  const open: string[] = [];
  token.lastIndex = 0;
  while (token.lastIndex < xml.length) {
    const [, cdata, close, name, attributes, empty, words] = token.exec(xml) ?? refuse();
    if (name) {
      start(
        name,
        Array.from(attributes!.matchAll(attribute), ([, key, , value]) => [key!, decode(value!)]),
      );
      if (empty) end();
      else if (open.push(name) > 100) refuse(); // nobody draws so deep, and browsers are slow to
    } else if (close) {
      if (open.pop() !== close) refuse();
      end();
    } else if (cdata ?? words) text(cdata ?? decode(words!));
  }
  if (open[0]) refuse();
}
