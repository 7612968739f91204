package lexicon

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/andybalholm/brotli"
)

// ErrCompiled means that bytes are not a compiled lexicon.
var ErrCompiled = errors.New("not a compiled lexicon")

// A Source is an npm package that a compiled lexicon was learned from.
type Source struct {
	Package string `json:"package"`
	Version string `json:"version"`
	License string `json:"license"`
}

// Compiled is the result of Learn in a compact form. Its weights have a few steps.
//
// The file is a brotli stream of seven sections, each after its length: the sources in JSON, then
// columns, because equal things beside each other compress well. The texts are the meanings, one a
// line, the most common first, each after = (a whole name) or ~ (words). The keys are the words and
// phrases in ascending order, each as the length that it shares with the previous one, the length
// of the rest, and the rest. For each key, counts has the number of its meanings, and foreign has 1
// if it belongs to another language. For each meaning, weights has the number of steps below the
// weight before, and ids its line in texts: of meanings with the same weight, which are in the
// order of their lines, only the difference from the line before.
type Compiled struct {
	Sources []Source
	texts   []Meaning // without weights
	columns [columns][]byte
}

const (
	colKeys = iota
	colCounts
	colForeign
	colIDs
	colWeights
	columns
)

// maxCompiled bounds the decompressed size.
const maxCompiled = 64 << 20

// Compile writes meanings in the form that ReadCompiled reads. The same meanings give the same
// bytes.
func Compile(w io.Writer, sources []Source, meanings map[string][]Meaning) error {
	ids, texts := numbered(meanings)
	var body [columns][]byte
	previous := ""
	for _, key := range slices.Sorted(maps.Keys(meanings)) {
		shared := 0
		for shared < min(len(key), len(previous), 255) && key[shared] == previous[shared] {
			shared++
		}
		rest := key[shared:]
		if len(rest) > 255 {
			return fmt.Errorf("%w: a word has %d bytes, more than 255", ErrCompiled, len(key))
		}
		body[colKeys] = append(append(body[colKeys], byte(shared), byte(len(rest))), rest...)
		body[colCounts] = binary.AppendUvarint(body[colCounts], uint64(len(meanings[key])))
		foreign := byte(0)
		if slices.ContainsFunc(meanings[key], func(m Meaning) bool { return m.Foreign }) {
			foreign = 1
		}
		body[colForeign] = append(body[colForeign], foreign)
		list := make([]stepped, len(meanings[key]))
		for i, m := range meanings[key] {
			list[i] = stepOf(m.Weight, ids[line(m)])
		}
		slices.SortFunc(list, func(a, b stepped) int { return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.id, b.id)) })
		var before stepped
		for _, m := range list {
			id := m.id
			if m.step == before.step {
				id -= before.id
			}
			body[colIDs] = binary.AppendUvarint(body[colIDs], uint64(id))
			body[colWeights] = append(body[colWeights], m.step-before.step)
			before = m
		}
		previous = key
	}
	head, err := json.Marshal(sources)
	if err != nil {
		return err
	}
	// A higher quality takes ten times as long for a tenth of the size.
	out := brotli.NewWriterOptions(w, brotli.WriterOptions{Quality: 9, LGWin: 24})
	for _, section := range append([][]byte{head, []byte(strings.Join(texts, "\n"))}, body[:]...) {
		if _, err := out.Write(append(binary.AppendUvarint(nil, uint64(len(section))), section...)); err != nil {
			return err
		}
	}
	return out.Close()
}

// numbered numbers the distinct meanings, the most common first, so that most numbers are small.
func numbered(meanings map[string][]Meaning) (ids map[string]int, texts []string) {
	count := map[string]int{}
	for _, list := range meanings {
		for _, m := range list {
			count[line(m)]++
		}
	}
	texts = slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), strings.Compare(a, b))
	})
	ids = make(map[string]int, len(texts))
	for i, t := range texts {
		ids[t] = i
	}
	return ids, texts
}

func line(m Meaning) string {
	if m.Whole {
		return "=" + m.Text
	}
	return "~" + m.Text
}

// A stepped is a meaning by its line and the step of its weight.
type stepped struct {
	step byte
	id   int
}

// steps are the weights of meanings, each seven eighths of the one before. More of them say
// nothing, because weights are estimates.
var steps = func() (list [maxSteps]float64) {
	for i := range list {
		list[i] = math.Pow(7./8, float64(i))
	}
	return list
}()

const maxSteps = 40

// stepOf returns a meaning with the step next to its weight.
func stepOf(weight float64, id int) stepped {
	n := math.Round(math.Log(max(weight, steps[maxSteps-1])) / math.Log(7./8))
	return stepped{byte(max(0, min(maxSteps-1, n))), id}
}

// ReadCompiled reads what Compile wrote. The error is ErrCompiled.
func ReadCompiled(data []byte) (*Compiled, error) {
	body, err := io.ReadAll(io.LimitReader(brotli.NewReader(bytes.NewReader(data)), maxCompiled))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCompiled, err)
	}
	var sections [2 + columns][]byte
	for i := range sections {
		n, size := binary.Uvarint(body)
		if size <= 0 || n > uint64(len(body)-size) {
			return nil, fmt.Errorf("%w: section %d is incomplete", ErrCompiled, i)
		}
		sections[i], body = body[size:][:n], body[size+int(n):]
	}
	c := &Compiled{columns: [columns][]byte(sections[2:])}
	if err := json.Unmarshal(sections[0], &c.Sources); err != nil {
		return nil, fmt.Errorf("%w: its sources: %w", ErrCompiled, err)
	}
	for text := range strings.SplitSeq(string(sections[1]), "\n") {
		if text != "" {
			c.texts = append(c.texts, Meaning{Text: text[1:], Whole: text[0] == '='})
		}
	}
	return c, c.check()
}

// check reads all columns once, so that All meets no error.
func (c *Compiled) check() error {
	r := reader{Compiled: c, left: c.columns}
	for r.next() {
		for range r.count {
			r.meaning()
		}
	}
	if r.bad || slices.ContainsFunc(r.left[:], func(rest []byte) bool { return len(rest) > 0 }) {
		return fmt.Errorf("%w: its columns do not agree", ErrCompiled)
	}
	return nil
}

// All passes the words and phrases in ascending order, each with its meanings, the most certain
// first. It calls form once for each meaning, without a weight, and leaves out the meaning if the
// result is empty. A nil form leaves out nothing. The list of meanings is valid until the next
// word.
func (c *Compiled) All(form func(Meaning) string) iter.Seq2[string, []Meaning] {
	return func(yield func(string, []Meaning) bool) {
		texts := slices.Clone(c.texts)
		for i, m := range texts {
			if form != nil {
				texts[i].Form = form(m)
			}
		}
		r := reader{Compiled: c, left: c.columns}
		var list []Meaning
		for r.next() {
			list = list[:0]
			for range r.count {
				if m := texts[r.meaning()]; m.Form != "" || form == nil {
					m.Weight, m.Foreign = steps[r.step], r.foreign
					list = append(list, m)
				}
			}
			if len(list) > 0 && !yield(string(r.key), list) {
				return
			}
		}
	}
}

// A reader reads the columns of a compiled lexicon. It sets bad at the first thing that Compile
// does not write, and then stops.
type reader struct {
	*Compiled
	left    [columns][]byte
	key     []byte
	count   uint64
	foreign bool
	step    byte   // of the weight of the last meaning
	id      uint64 // of the last meaning
	bad     bool
}

// next reads a key and the number of its meanings. It returns false at the end.
func (r *reader) next() bool {
	keys := r.left[colKeys]
	if len(keys) == 0 || r.bad {
		return false
	}
	if len(keys) < 2 || int(keys[0]) > len(r.key) || len(keys) < 2+int(keys[1]) {
		r.bad = true
		return false
	}
	r.key = append(r.key[:keys[0]], keys[2:][:keys[1]]...)
	r.left[colKeys] = keys[2+int(keys[1]):]
	r.count, r.step, r.id = r.number(colCounts), 0, 0
	r.foreign = r.number(colForeign) == 1
	if r.count > uint64(len(r.left[colWeights])) { // each meaning has one byte there
		r.bad = true
	}
	return !r.bad
}

// meaning reads one meaning of the last key, and its weight. It returns its line in texts.
func (r *reader) meaning() uint64 {
	id, weights := r.number(colIDs), r.left[colWeights]
	if r.bad || len(weights) == 0 || weights[0] >= maxSteps-r.step {
		r.bad = true
		return 0
	}
	if weights[0] == 0 {
		id += r.id
	}
	if id >= uint64(len(r.texts)) {
		r.bad = true
		return 0
	}
	r.id, r.step, r.left[colWeights] = id, r.step+weights[0], weights[1:]
	return id
}

func (r *reader) number(column int) uint64 {
	n, size := binary.Uvarint(r.left[column])
	if size <= 0 {
		r.bad = true
		return 0
	}
	r.left[column] = r.left[column][size:]
	return n
}
