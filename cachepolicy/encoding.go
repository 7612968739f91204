package cachepolicy

import (
	"slices"
	"strings"
)

// Content codings (RFC 9110, section 8.4.1; RFC 7932; RFC 9659).
const (
	Brotli   = "br"
	Gzip     = "gzip"
	Zstd     = "zstd"
	Identity = "identity"
)

// Encoding selects a content coding by Accept-Encoding (RFC 9110, section 12.5.3). Of identity and
// the codings in have, it returns the one with the highest weight; on a tie the first in have, and
// identity last. Without the field, or if no available coding is acceptable, it returns Identity. A
// malformed weight counts as zero, and the lower of two weights for one coding applies. Of have, it
// reads the first MaxCodings.
func Encoding(acceptEncoding string, have ...string) string {
	have = have[:min(len(have), MaxCodings)]
	w := readWeights(acceptEncoding, have...)
	best, bestQ := Identity, w.of(w.identity)
	if w.identity == unlisted && w.any == unlisted {
		bestQ = 0 // acceptable, but the client prefers each coding that it lists
	}
	for i, coding := range slices.Backward(have) {
		if q := w.of(w.named[i]); q > 0 && q >= bestQ {
			best, bestQ = coding, q
		}
	}
	return best
}

// Accepts reports whether Accept-Encoding permits a coding. It permits identity unless that has a
// weight of zero, and any other coding only if it names it or "*".
func Accepts(acceptEncoding, coding string) bool {
	w := readWeights(acceptEncoding, coding)
	if coding == Identity {
		return w.identity > 0 || w.identity == unlisted && w.any != 0
	}
	return w.of(w.named[0]) > 0
}

// The content codings that use a dictionary (RFC 9842, section 4), and the field that names that of
// a client (section 2.2).
const (
	DictionaryBrotli    = "dcb"
	DictionaryZstd      = "dcz"
	AvailableDictionary = "Available-Dictionary"
)

// NormalEncoding returns the normal form of Accept-Encoding: the codings that the client accepts,
// of gzip, br and zstd, without weights and in this order. It has no coding that the client likes
// less than identity, and is identity if there is no other. For a request without the field it is
// empty.
//
// Responses with Vary: Accept-Encoding are stored for each form, so there are few: clients spell
// the field in any number of ways. br and zstd without gzip, which no client is known to send, are
// br. A dictionary serves only a client that names one in Available-Dictionary (section 2.1), and
// all such clients accept every coding: otherwise dcb and dcz do not count.
func NormalEncoding(lines []string, dictionary bool) string {
	if len(lines) == 0 {
		return ""
	}
	list := strings.Join(lines, ",")
	w := readWeights(list, Gzip, Brotli, Zstd)
	least := 1 // thousandths
	if w.identity != unlisted || w.any != unlisted {
		least = max(least, w.of(w.identity))
	}
	takes := func(i int) bool { return w.of(w.named[i]) >= least }
	gzip, br, zstd := takes(0), takes(1), takes(2)
	var forms []string
	if gzip {
		forms = append(forms, Gzip)
	}
	if br {
		forms = append(forms, Brotli)
	}
	if zstd && (!br || len(forms) == 2) {
		forms = append(forms, Zstd)
	}
	switch {
	case len(forms) == 0:
		return Identity
	case len(forms) == 3 && dictionary && lists(list, DictionaryBrotli) && lists(list, DictionaryZstd):
		forms = append(forms, DictionaryBrotli, DictionaryZstd)
	}
	return strings.Join(forms, ", ")
}

// lists reports whether a list names a coding, and does not exclude it by a weight of zero.
func lists(list, coding string) (found bool) {
	for item := range strings.SplitSeq(list, ",") {
		name, params, weighted := strings.Cut(item, ";")
		if !strings.EqualFold(trim(name), coding) {
			continue
		}
		if q, _ := weight(trim(params)); weighted && q == 0 {
			return false
		}
		found = true
	}
	return found
}

// MaxCodings is the number of codings, besides identity, among which Encoding chooses.
const MaxCodings = 8

// weights are the weights of identity, "*" and named codings in thousandths, or unlisted.
type weights struct {
	named         [MaxCodings]int
	identity, any int
}

const unlisted = -1

// of returns the weight of a coding. A coding that is not listed has the weight of "*"; without "*"
// it is not acceptable.
func (w *weights) of(q int) int {
	if q == unlisted {
		q = w.any
	}
	return max(q, 0)
}

// readWeights returns the weights of at most MaxCodings codings.
func readWeights(list string, codings ...string) weights {
	w := weights{identity: unlisted, any: unlisted}
	for i := range codings {
		w.named[i] = unlisted
	}
	for list != "" {
		var item string
		item, list, _ = strings.Cut(list, ",")
		coding, params, weighted := strings.Cut(item, ";")
		q := 1000
		if weighted {
			q, _ = weight(trim(params))
		}
		at := w.place(trim(coding), codings)
		if at != nil && (*at == unlisted || q < *at) {
			*at = q
		}
	}
	return w
}

// place returns the place for the weight of a coding; nil: it has none.
func (w *weights) place(coding string, codings []string) *int {
	switch {
	case coding == "*":
		return &w.any
	case strings.EqualFold(coding, Identity):
		return &w.identity
	case strings.EqualFold(coding, "x-gzip"): // the same coding (section 8.4.1.3)
		coding = Gzip
	}
	for i, name := range codings {
		if strings.EqualFold(coding, name) {
			return &w.named[i]
		}
	}
	return nil
}

// weight parses a weight such as "q=0.5" in thousandths (RFC 9110, section 12.4.2). A malformed
// weight is zero, with ok false.
func weight(s string) (q int, ok bool) {
	if len(s) < 3 || len(s) > 7 {
		return 0, false
	}
	if s[0]|0x20 != 'q' || s[1] != '=' || s[2] != '0' && s[2] != '1' {
		return 0, false
	}
	q, unit := int(s[2]-'0')*1000, 100
	for i := 3; i < len(s); i++ {
		if i == 3 {
			if s[i] != '.' {
				return 0, false
			}
			continue
		}
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		q += int(s[i]-'0') * unit
		unit /= 10
	}
	if q > 1000 {
		return 0, false
	}
	return q, true
}
