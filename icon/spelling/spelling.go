// Package spelling makes the names of icons from the names that their authors gave them. Publishing
// names files by it, and the edge finds the icon of an address that is spelled in another way.
package spelling

import (
	"fmt"
	"hash/crc32"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/iconedge/iconedge/icon"
)

// maxSpelling is the length of the longest spelling that is mended, in bytes. A file has at most
// 255 bytes in its name, and its folders add theirs.
const maxSpelling = 1024

// Mend returns the valid name that is closest to s, or "" if s has nothing to make a name of. A
// valid name stays as it is.
//
//   - A capital begins a word: after a small letter (ArrowLeft is arrow-left), and as the last of
//     several before a small letter, or after a digit (AWSLambda is aws-lambda, EC2Instance is
//     ec2-instance, EC2 is ec2).
//   - Letters lose their marks (Größe is grosse); + is plus, & is and, an apostrophe is nothing.
//   - A letter or symbol without a Latin form is its code point (文 is u6587), so that different
//     names stay different.
//   - Everything else separates words, unless there are none: ! is u21.
//   - A name that is too long ends in a checksum of itself.
func Mend(s string) string {
	if icon.ValidKey(s) {
		return s
	}
	if len(s) > maxSpelling {
		return ""
	}
	var w words
	runes := []rune(norm.NFC.String(s))
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 && beginsWord(runes, i) {
			w.end()
		}
		w.add(r)
	}
	if w.Len() == 0 {
		for _, r := range runes {
			if unicode.IsPrint(r) && !strings.ContainsRune(" -_.", r) {
				w.word(fmt.Sprintf("u%x", r))
			}
		}
	}
	return shorten(w.String())
}

// beginsWord reports whether the capital runes[i] begins a word.
func beginsWord(runes []rune, i int) bool {
	switch before := runes[i-1]; {
	case unicode.IsLower(before):
		return true
	case i+1 == len(runes) || !unicode.IsLower(runes[i+1]):
		return false
	case unicode.IsDigit(before):
		return true
	default:
		plural := runes[i+1] == 's' && (i+2 == len(runes) || !unicode.IsLower(runes[i+2])) // APIs
		return unicode.IsUpper(before) && !plural
	}
}

// words builds a name. A hyphen separates its words.
type words struct {
	strings.Builder
	ended bool
}

func (w *words) end() { w.ended = true }

func (w *words) write(s string) {
	if w.ended && w.Len() > 0 {
		w.WriteByte('-')
	}
	w.ended = false
	w.WriteString(s)
}

func (w *words) word(s string) {
	w.end()
	w.write(s)
	w.end()
}

// add adds the form of a character in names.
func (w *words) add(r rune) {
	r = unicode.ToLower(r)
	if latin, ok := letters[r]; ok {
		w.write(latin)
		return
	}
	switch {
	case isNameByte(r):
		w.write(string(r))
	case r == '+':
		w.word("plus")
	case r == '&':
		w.word("and")
	case r == '\'', r == '’', unicode.Is(unicode.Mn, r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r):
	case r == unicode.ReplacementChar:
		w.end()
	case unicode.IsLetter(r), unicode.IsNumber(r), unicode.Is(unicode.So, r), r > unicode.MaxLatin1 && unicode.IsSymbol(r):
		w.addDecomposed(r)
	default:
		w.end()
	}
}

// addDecomposed adds a character that is not ASCII by what it consists of, or by its code point.
func (w *words) addDecomposed(r rune) {
	before := w.Len()
	for _, part := range norm.NFKD.String(string(r)) {
		if part = unicode.ToLower(part); isNameByte(part) {
			w.write(string(part))
		} else if !unicode.Is(unicode.Mn, part) {
			w.end()
		}
	}
	if w.Len() == before {
		w.word(fmt.Sprintf("u%x", r))
	}
}

func isNameByte(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' }

// letters has the Latin letters, in lower case, that Unicode does not decompose.
var letters = map[rune]string{
	'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'đ': "d", 'ð': "d", 'þ': "th", 'ł': "l", 'ħ': "h", 'ı': "i", 'ŧ': "t", 'ŋ': "n",
}

// shorten returns a name of at most icon.MaxKey bytes.
func shorten(name string) string {
	if len(name) <= icon.MaxKey {
		return name
	}
	sum := fmt.Sprintf("-%08x", crc32.ChecksumIEEE([]byte(name)))
	return strings.TrimSuffix(name[:icon.MaxKey-len(sum)], "-") + sum
}
