// One token of XML 1.0: a comment or declaration, which is skipped, CDATA, an end tag, a start tag, or text. The expression
// is sticky: if it does not match, the input is not XML, and no characters are skipped to find the next tag. A DOCTYPE does
// not match either.
const token =
  /<(?:!--[^]*?--|\?xml[ \t\r\n][^]*?\?)>|<!\[CDATA\[([^]*?)]]>|<\/([^ \t\r\n<>]+)[ \t\r\n]*>|<([^ \t\r\n<>/!?]+)((?:[ \t\r\n]+[^ \t\r\n<>=/]+[ \t\r\n]*=[ \t\r\n]*(?:"[^"<]*"|'[^'<]*'))*)[ \t\r\n]*(\/?)>|((?:(?!]]>)[^<])+)/y;
const attribute = /([^ \t\r\n=]+)[ \t\r\n]*=[ \t\r\n]*(["'])(.*?)\2/gs;
const entities = { __proto__: null, amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" } as unknown as Record<
  string,
  string
>;

/** Throws the error for a text that is not XML. The only other error is the engine's for a character beyond Unicode. */
export function refuse(): never {
  throw Error(); // whoever catches it says what it means
}

/** Replaces XML's predefined and numeric references. Other entities would need a DOCTYPE, so they are an error. */
const decode = (text: string) =>
  text.replace(/&(?:#(\d+|x[\da-fA-F]+)|(\w+));|&/g, (_, number: string, word: string) =>
    number ? String.fromCodePoint(+('0' + number)) : (entities[word] ?? refuse()),
  );

/**
 * Parses a well-formed document and calls a function for each part. It needs no DOM and creates nothing that could run or
 * load: a DOMParser would report every style attribute, and its own error page, to the Content-Security-Policy.
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
      else if (open.push(name) > 100) refuse(); // no icon is nested so deeply, and browsers would be slow
    } else if (close) {
      if (open.pop() !== close) refuse();
      end();
    } else if (cdata ?? words) text(cdata ?? decode(words!));
  }
  if (open[0]) refuse();
}
