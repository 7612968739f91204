package lexicon

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// A Synset is a set of words with one meaning, as in WordNet (wndb(5WN)). Links refer to other
// synsets by index.
type Synset struct {
	Words   []string // as in WordNet, with spaces; the first is the most common
	Gloss   string
	Broader []int32 // this is a kind or an instance of these
	Near    []int32 // similar, derived, pertaining, causes: about the same subject
	Part    []int32 // this is a part, member or substance of these
	Topic   []int32 // this is a term of these fields
}

// pointers maps WordNet's pointer symbols to links. The other symbols are reverse links, or of no
// use for a search.
var pointers = map[string]func(*Synset) *[]int32{
	"@": (*Synset).broader, "@i": (*Synset).broader,
	"&": (*Synset).near, "+": (*Synset).near, `\`: (*Synset).near, "^": (*Synset).near, ">": (*Synset).near,
	"=": (*Synset).near, "$": (*Synset).near, "*": (*Synset).near,
	"#p": (*Synset).part, "#m": (*Synset).part, "#s": (*Synset).part,
	";c": (*Synset).topic,
}

func (s *Synset) broader() *[]int32 { return &s.Broader }
func (s *Synset) near() *[]int32    { return &s.Near }
func (s *Synset) part() *[]int32    { return &s.Part }
func (s *Synset) topic() *[]int32   { return &s.Topic }

// A place identifies a synset by its file and its offset there, which pointers use.
type place struct {
	pos    byte
	offset string
}

// A link is an unresolved pointer.
type link struct {
	from   int32
	symbol string
	to     place
}

// wordnet gathers synsets file by file.
type wordnet struct {
	synsets []Synset
	at      map[place]int32
	links   []link
}

func (l *Lexicon) readWordNet(from Folder, noun string) error {
	w := wordnet{at: map[place]int32{}}
	for _, pos := range []string{"noun", "verb", "adj", "adv"} {
		data, err := fs.ReadFile(from.Files, path.Join(path.Dir(noun), "data."+pos))
		if err != nil {
			return err
		}
		if err := w.read(bytes.NewReader(data)); err != nil {
			return fmt.Errorf("data.%s: %w", pos, err)
		}
	}
	l.Synsets, l.Senses = w.resolved(), map[string][]int32{}
	for _, pos := range []string{"noun", "verb", "adj", "adv"} {
		data, err := fs.ReadFile(from.Files, path.Join(path.Dir(noun), "index."+pos))
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(data)) {
			w.senses(line, l.Senses)
		}
	}
	return nil
}

// senses reads "lemma pos synsets pointers {symbol} synsets tagged {offset}".
func (w *wordnet) senses(line string, into map[string][]int32) {
	f := strings.Fields(line)
	if strings.HasPrefix(line, " ") || len(f) < 4 || len(f[1]) != 1 {
		return
	}
	n, err := strconv.Atoi(f[2])
	if err != nil || n < 0 || n > len(f) {
		return
	}
	word := strings.ReplaceAll(f[0], "_", " ")
	for _, offset := range f[len(f)-n:] {
		if id, ok := w.at[place{posOf(f[1][0]), offset}]; ok {
			into[word] = append(into[word], id)
		}
	}
}

func (w *wordnet) read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if strings.HasPrefix(lines.Text(), "  ") { // the licence
			continue
		}
		if err := w.line(lines.Text()); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return lines.Err()
}

var errLine = fmt.Errorf("%w: not a line of WordNet", ErrSource)

// line reads "offset file pos words(hex) {word id} pointers {symbol offset pos source} … | gloss".
func (w *wordnet) line(text string) error {
	data, gloss, _ := strings.Cut(text, "| ")
	f := strings.Fields(data)
	if len(f) < 4 {
		return errLine
	}
	words, err := strconv.ParseUint(f[3], 16, 8)
	if err != nil || len(f) < 5+2*int(words) || len(f[2]) != 1 {
		return errLine
	}
	s := Synset{Gloss: gloss}
	for i := range int(words) {
		s.Words = append(s.Words, lemma(f[4+2*i]))
	}
	id := int32(len(w.synsets))
	w.synsets = append(w.synsets, s)
	w.at[place{posOf(f[2][0]), f[0]}] = id
	f = f[4+2*words:]
	count, err := strconv.Atoi(f[0])
	if err != nil || count < 0 || len(f) < 1+4*count {
		return errLine
	}
	for i := range count {
		p := f[1+4*i:][:4]
		if pointers[p[0]] != nil && len(p[2]) == 1 {
			w.links = append(w.links, link{id, p[0], place{posOf(p[2][0]), p[1]}})
		}
	}
	return nil
}

// posOf returns the file of a part of speech: adjective satellites are in the file of adjectives.
func posOf(pos byte) byte {
	if pos == 's' {
		return 'a'
	}
	return pos
}

// lemma returns a word without its syntactic marker, as in "afraid(p)".
func lemma(word string) string {
	word, _, _ = strings.Cut(word, "(")
	return strings.ReplaceAll(word, "_", " ")
}

// resolved returns the synsets with their links, without links to missing synsets.
func (w *wordnet) resolved() []Synset {
	for _, l := range w.links {
		if to, ok := w.at[l.to]; ok {
			list := pointers[l.symbol](&w.synsets[l.from])
			*list = append(*list, to)
		}
	}
	return w.synsets
}
