package svg

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// declaredEncoding matches the encoding in an XML declaration, in bytes that mean ASCII.
var declaredEncoding = regexp.MustCompile(`^<\?xml[ \t\r\n][^>]{0,200}?[ \t\r\n]encoding[ \t\r\n]*=[ \t\r\n]*["']([A-Za-z][A-Za-z0-9._:-]*)["']`)

// windows1252 has the characters of the bytes 0x80 to 0x9f. Browsers read ISO 8859-1 so too
// (Encoding Standard, section 4.2).
var windows1252 = [32]rune{0x20AC, 0x81, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152,
	0x8D, 0x017D, 0x8F, 0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153,
	0x9D, 0x017E, 0x0178}

// toUTF8 converts a file to UTF-8. A byte order mark decides about the encoding, then the XML
// declaration, as in browsers. The cleaner writes nothing but UTF-8, and no declaration.
func toUTF8(doc []byte) ([]byte, error) {
	switch {
	case bytes.HasPrefix(doc, []byte("\xef\xbb\xbf")):
		return doc[3:], nil
	case bytes.HasPrefix(doc, []byte("\xff\xfe")):
		return fromUTF16(doc[2:], binary.LittleEndian)
	case bytes.HasPrefix(doc, []byte("\xfe\xff")):
		return fromUTF16(doc[2:], binary.BigEndian)
	case bytes.HasPrefix(doc, []byte("<\x00?\x00")):
		return fromUTF16(doc, binary.LittleEndian)
	case bytes.HasPrefix(doc, []byte("\x00<\x00?")):
		return fromUTF16(doc, binary.BigEndian)
	}
	m := declaredEncoding.FindSubmatch(doc)
	if m == nil {
		return doc, nil
	}
	switch name := strings.ToLower(string(m[1])); {
	case name == "utf-8", name == "utf8", strings.HasPrefix(name, "utf-16"), name == "unicode":
		// A file in bytes that declares UTF-16 is in UTF-8: programs convert it and leave the
		// declaration as it was.
		return doc, nil
	case isASCII(doc):
		return asciiSuperset(doc, name)
	case isLatin1(name):
		return fromLatin1(doc), nil
	}
	return nil, unclean("its encoding is none of UTF-8, UTF-16 and Latin-1 (ISO 8859-1 or Windows 1252)")
}

func isLatin1(name string) bool {
	switch name {
	case "iso-8859-1", "iso8859-1", "iso_8859-1", "latin1", "latin-1", "windows-1252", "cp1252", "us-ascii", "ascii":
		return true
	}
	return false
}

// asciiSuperset accepts a file of nothing but ASCII in an encoding where those bytes mean ASCII.
func asciiSuperset(doc []byte, name string) ([]byte, error) {
	for _, start := range [...]string{"iso-8859-", "iso8859-", "iso_8859-", "windows-125", "cp125", "latin", "koi8-", "gb", "big5", "euc-",
		"macintosh", "us-ascii", "ascii", "windows-874", "tis-620"} {
		if strings.HasPrefix(name, start) {
			return doc, nil
		}
	}
	return nil, unclean("its encoding is none of UTF-8, UTF-16 and Latin-1 (ISO 8859-1 or Windows 1252)")
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

func fromLatin1(doc []byte) []byte {
	out := make([]byte, 0, len(doc)+len(doc)/8)
	for _, c := range doc {
		switch {
		case c < 0x80:
			out = append(out, c)
		case c < 0xa0:
			out = utf8.AppendRune(out, windows1252[c-0x80])
		default:
			out = utf8.AppendRune(out, rune(c))
		}
	}
	return out
}

func fromUTF16(doc []byte, order binary.ByteOrder) ([]byte, error) {
	if len(doc)%2 != 0 {
		return nil, unclean("it is UTF-16 with half a character at its end")
	}
	out := make([]byte, 0, len(doc)/2+len(doc)/8)
	for i := 0; i < len(doc); i += 2 {
		r := rune(order.Uint16(doc[i:]))
		if utf16.IsSurrogate(r) {
			low := rune(0)
			if i+4 <= len(doc) {
				low = rune(order.Uint16(doc[i+2:]))
			}
			if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
				return nil, unclean("it is UTF-16 with half a character in it")
			}
			i += 2
		}
		out = utf8.AppendRune(out, r)
	}
	return out, nil
}
