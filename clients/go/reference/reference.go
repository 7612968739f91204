// Package reference finds the words of a text that name icons: pack:name, pack/name, and the
// classes i-pack-name and i-pack:name, where pack is one of the library's. Paths, addresses, times
// and types of media name none.
//
// clients/testdata/reference.json has its cases. The package makes no request: the caller knows the
// packs.
package reference

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/iconedge/iconedge/icon"
)

// A Reference is a word of a text that names an icon. Start and End are offsets in bytes.
type Reference struct {
	Start, End int
	icon.Ref
	Prefix    string // i- for a class, else empty
	Separator string // between pack and name: a colon, a slash or a hyphen
	// Others are the other icons that the class i-pack-name can mean, if several packs begin alike;
	// that of the longest pack is Ref.
	Others []icon.Ref
}

// A Partial is a reference that is being typed. Typed is its name so far, which may be empty.
type Partial struct {
	Start             int
	Pack, Typed       string
	Prefix, Separator string
}

// Packs reports whether the library has a pack.
type Packs func(key string) bool

// Any is a Packs that has every pack.
func Any(string) bool { return true }

const (
	classPrefix = "i-"
	longest     = 300 // bytes of the longest word that is examined
)

// Find returns the references of a text in their order.
func Find(text string, packs Packs) []Reference {
	var found []Reference
	for word, start := range words(text) {
		if r, ok := parse(strings.TrimRight(word, ".:"), packs); ok {
			r.Start, r.End = r.Start+start, r.End+start
			found = append(found, r)
		}
	}
	return found
}

// words yields the words of a text that may be references, with their offsets. It leaves out
// addresses.
func words(text string) func(func(string, int) bool) {
	return func(yield func(string, int) bool) {
		for at := 0; at < len(text); {
			length := wordLength(text[at:])
			if length == 0 {
				_, size := utf8.DecodeRuneInString(text[at:])
				at += size
				continue
			}
			word := text[at : at+length]
			if strings.Contains(word, "://") {
				at += addressLength(text[at:])
				continue
			}
			if len(word) <= longest && strings.ContainsAny(word, ":/-") && !yield(word, at) {
				return
			}
			at += length
		}
	}
}

// wordLength returns the number of bytes before the first character that no word has.
func wordLength(text string) int {
	for i, r := range text {
		if !inWord(r) {
			return i
		}
	}
	return len(text)
}

// inWord reports whether a character is a part of a word. Words include the characters of paths, so
// that no part of a path is a word of its own.
func inWord(r rune) bool {
	return strings.ContainsRune(`-_./:@\~%+#$`, r) || unicode.In(r, unicode.L, unicode.N, unicode.M)
}

// addressLength returns the number of bytes before the first character that ends an address.
func addressLength(text string) int {
	for i, r := range text {
		if unicode.IsSpace(r) || strings.ContainsRune("\"'`<>()", r) {
			return i
		}
	}
	return len(text)
}

// parse reads a word.
func parse(word string, packs Packs) (r Reference, ok bool) {
	start := variantLength(word)
	r = Reference{Start: start, End: len(word)}
	if class, is := strings.CutPrefix(word[start:], classPrefix); is {
		r.Prefix = classPrefix
		if strings.Contains(class, ":") {
			return r, r.split(class, ":", packs)
		}
		return r, r.splitHyphens(class, packs)
	}
	if at := strings.IndexAny(word, ":/"); at > 0 {
		return r, r.split(word, word[at:at+1], packs)
	}
	return r, false
}

// variantLength returns the length of the variants before a class, such as dark:hover: in
// dark:hover:i-mdi-home.
func variantLength(word string) int {
	at := strings.LastIndex(word, ":"+classPrefix)
	if at <= 0 || strings.ContainsAny(word[:at], "/.\\") {
		return 0
	}
	return at + 1
}

func (r *Reference) split(word, separator string, packs Packs) bool {
	pack, name, _ := strings.Cut(word, separator)
	if !icon.ValidKey(pack) || !icon.ValidKey(name) || !packs(pack) {
		return false
	}
	r.Ref, r.Separator = icon.Ref{Pack: pack, Name: name}, separator
	return true
}

// splitHyphens reads pack-name, where both may have hyphens.
func (r *Reference) splitHyphens(class string, packs Packs) bool {
	if !icon.ValidKey(class) {
		return false
	}
	var all []icon.Ref
	for at := len(class) - 1; at > 0; at-- {
		if class[at] == '-' && packs(class[:at]) {
			all = append(all, icon.Ref{Pack: class[:at], Name: class[at+1:]})
		}
	}
	if len(all) == 0 {
		return false
	}
	r.Ref, r.Others, r.Separator = all[0], all[1:], "-"
	return true
}

// Before returns the reference that is being typed at the end of a text. A name that was typed in
// capitals or with an underscore is none.
func Before(text string, packs Packs) (p Partial, ok bool) {
	start := len(text)
	for start > 0 && len(text)-start <= longest {
		r, size := utf8.DecodeLastRuneInString(text[:start])
		if !inWord(r) {
			break
		}
		start -= size
	}
	word := text[start:]
	if len(word) > longest || inAddress(text, start) {
		return p, false
	}
	variant := variantLength(word)
	p.Start, word = start+variant, word[variant:]
	if class, is := strings.CutPrefix(word, classPrefix); is {
		p.Prefix, word = classPrefix, class
		if !strings.Contains(class, ":") {
			return p, p.splitHyphens(class, packs)
		}
	} else if variant > 0 {
		return p, false
	}
	at := strings.IndexAny(word, ":/")
	if at <= 0 || p.Prefix != "" && word[at] == '/' {
		return p, false
	}
	p.Pack, p.Separator, p.Typed = word[:at], word[at:at+1], word[at+1:]
	return p, icon.ValidKey(p.Pack) && beginsKey(p.Typed) && packs(p.Pack)
}

// inAddress reports whether the character at an offset is a part of an address.
func inAddress(text string, at int) bool {
	begin := strings.LastIndexAny(text[:at], " \t\r\n\"'`<>()") + 1
	end := min(len(text), at+longest)
	return strings.Contains(text[begin:end], "://")
}

func (p *Partial) splitHyphens(class string, packs Packs) bool {
	for at := len(class) - 1; at > 0; at-- {
		if class[at] == '-' && icon.ValidKey(class[:at]) && packs(class[:at]) {
			p.Pack, p.Separator, p.Typed = class[:at], "-", class[at+1:]
			return beginsKey(p.Typed)
		}
	}
	return false
}

// beginsKey reports whether s is the beginning of a name.
func beginsKey(s string) bool {
	s = strings.TrimSuffix(s, "-")
	return s == "" || icon.ValidKey(s)
}
