package cachepolicy

import (
	"slices"
	"strings"
)

// The content codings that the edge serves (RFC 9110, section 8.4.1; RFC 7932; RFC 9659).
const (
	Brotli   = "br"
	Gzip     = "gzip"
	Zstd     = "zstd"
	Identity = "identity"
)

// Encoding selects a content coding by Accept-Encoding (RFC 9110, section 12.5.3). Of identity and
// the codings in have, it returns the one with the highest weight; on a tie the order is br, zstd,
// gzip, identity. Without the field, or if no available coding is acceptable, it returns Identity.
// A malformed weight counts as zero, and the lower of two weights for one coding applies.
func Encoding(acceptEncoding string, have ...string) string {
	q := readWeights(acceptEncoding)
	best, bestQ := Identity, q.of(q.identity)
	if q.identity == unlisted && q.any == unlisted {
		bestQ = 0 // acceptable, but the client prefers each coding that it lists
	}
	if q := q.of(q.gzip); q > 0 && q >= bestQ && slices.Contains(have, Gzip) {
		best, bestQ = Gzip, q
	}
	if q := q.of(q.zstd); q > 0 && q >= bestQ && slices.Contains(have, Zstd) {
		best, bestQ = Zstd, q
	}
	if q := q.of(q.br); q > 0 && q >= bestQ && slices.Contains(have, Brotli) {
		best = Brotli
	}
	return best
}

// Accepts reports whether Accept-Encoding permits a coding. It permits identity unless that has a
// weight of zero, and any other coding only if it names it or "*".
func Accepts(acceptEncoding, coding string) bool {
	q := readWeights(acceptEncoding)
	switch coding {
	case Brotli:
		return q.of(q.br) > 0
	case Zstd:
		return q.of(q.zstd) > 0
	case Gzip:
		return q.of(q.gzip) > 0
	case Identity:
		return q.identity > 0 || q.identity == unlisted && q.any != 0
	}
	return false
}

// The content codings that use a dictionary (RFC 9842, section 4).
const (
	dictionaryBrotli = "dcb"
	dictionaryZstd   = "dcz"
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
	w := readWeights(list)
	least := 1 // thousandths
	if w.identity != unlisted || w.any != unlisted {
		least = max(least, w.of(w.identity))
	}
	takes := func(q int) bool { return w.of(q) >= least }
	br, zstd := takes(w.br), takes(w.zstd)
	var forms []string
	if takes(w.gzip) {
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
	case len(forms) == 3 && dictionary && lists(list, dictionaryBrotli) && lists(list, dictionaryZstd):
		forms = append(forms, dictionaryBrotli, dictionaryZstd)
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

// weights are the weights of the codings in thousandths, or unlisted.
type weights struct{ br, zstd, gzip, identity, any int }

const unlisted = -1

// of returns the weight of a coding. A coding that is not listed has the weight of "*"; without "*"
// it is not acceptable.
func (w weights) of(q int) int {
	if q == unlisted {
		q = w.any
	}
	return max(q, 0)
}

func readWeights(list string) weights {
	w := weights{unlisted, unlisted, unlisted, unlisted, unlisted}
	for list != "" {
		var item string
		item, list, _ = strings.Cut(list, ",")
		coding, params, weighted := strings.Cut(item, ";")
		q := 1000
		if weighted {
			q, _ = weight(trim(params))
		}
		var at *int
		switch coding = trim(coding); {
		case strings.EqualFold(coding, "br"):
			at = &w.br
		case strings.EqualFold(coding, "zstd"):
			at = &w.zstd
		// x-gzip is the same coding (section 8.4.1.3).
		case strings.EqualFold(coding, "gzip"), strings.EqualFold(coding, "x-gzip"):
			at = &w.gzip
		case strings.EqualFold(coding, "identity"):
			at = &w.identity
		case coding == "*":
			at = &w.any
		default:
			continue
		}
		if *at == unlisted || q < *at {
			*at = q
		}
	}
	return w
}

// weight parses a weight such as "q=0.5" in thousandths (RFC 9110, section 12.4.2). A malformed
// weight is zero, with ok false.
func weight(s string) (q int, ok bool) {
	if len(s) < 3 || len(s) > 7 || s[0]|0x20 != 'q' || s[1] != '=' || s[2] != '0' && s[2] != '1' {
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
