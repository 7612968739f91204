package convert

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A directive is one statement of nginx, with the block behind it.
type directive struct {
	file  string
	line  int
	name  string
	args  []string
	block []*directive
}

func (d *directive) String() string { return strings.Join(append([]string{d.name}, d.args...), " ") }

// arg returns the nth argument; empty: there are not as many.
func (d *directive) arg(n int) string {
	if n < len(d.args) {
		return d.args[n]
	}
	return ""
}

// A token is a word, or one of ; { and }.
type token struct {
	text string
	line int
	mark byte // ; { or }; 0: it is a word
}

// tokens splits a text as nginx does (ngx_conf_read_token), whose rules differ from those of the
// parsers in Go: a backslash takes the next character out of its meaning, a brace ends a word but
// for ${name}, and quotes count at the beginning of a word alone.
func tokens(file, text string) (all []token, err error) {
	line := 1
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '\n':
			line++
			i++
		case c == ' ', c == '\t', c == '\r':
			i++
		case c == '#':
			for i < len(text) && text[i] != '\n' {
				i++
			}
		case c == ';', c == '{', c == '}':
			all = append(all, token{line: line, mark: c})
			i++
		default:
			begun := line
			word, rest, err := cutWord(text[i:])
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", file, begun, err)
			}
			line += strings.Count(text[i:len(text)-len(rest)], "\n")
			i = len(text) - len(rest)
			all = append(all, token{text: word, line: begun})
		}
	}
	return all, nil
}

// cutWord returns the first word of a text that begins with one.
func cutWord(text string) (word, rest string, err error) {
	var b strings.Builder
	quote := text[0]
	if quote == '"' || quote == '\'' {
		text = text[1:]
	} else {
		quote = 0
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteString(unescaped(text[i]))
		case quote != 0 && c == quote:
			if rest = text[i+1:]; rest != "" && !strings.ContainsRune(" \t\r\n;{)", rune(rest[0])) {
				return "", "", fmt.Errorf("a word goes on behind its quote")
			}
			return b.String(), rest, nil
		case quote == 0 && (strings.IndexByte(" \t\r\n;", c) >= 0 || c == '{' && (i == 0 || text[i-1] != '$')):
			return b.String(), text[i:], nil
		default:
			b.WriteByte(c)
		}
	}
	if quote != 0 {
		return "", "", fmt.Errorf("a quote has no end")
	}
	return b.String(), "", nil
}

// unescaped returns what a backslash with a character stands for: a few characters for themselves,
// and others together with the backslash, which regular expressions need.
func unescaped(c byte) string {
	switch c {
	case '"', '\'', '\\':
		return string(c)
	case 't':
		return "\t"
	case 'r':
		return "\r"
	case 'n':
		return "\n"
	}
	return `\` + string(c)
}

// A reader reads the files of a configuration.
type reader struct {
	root  string // the folder that the first file is in
	left  int    // how many more files may be read
	notes *notes
}

const (
	maxFiles = 1000
	maxFile  = 4 << 20 // bytes
	maxDepth = 32      // of blocks and of files that include others
)

// usual are files that nginx and certbot come with. They may be missing, because they mean nothing
// to an edge.
var usual = []string{
	"mime.types", "fastcgi_params", "fastcgi.conf", "uwsgi_params", "scgi_params", "fastcgi-php.conf", "options-ssl-nginx.conf",
}

// read reads a file, with the files that it includes.
func (r *reader) read(file string, depth int) ([]*directive, error) {
	if r.left--; r.left < 0 {
		return nil, fmt.Errorf("%s: more than %d files are included", file, maxFiles)
	}
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxFile:
		return nil, fmt.Errorf("%s: is no file of at most %d bytes", file, maxFile)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	all, err := tokens(file, string(text))
	if err != nil {
		return nil, err
	}
	dirs, rest, err := r.block(file, all, depth)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%s:%d: unexpected }", file, rest[0].line)
	}
	return dirs, err
}

// block reads the directives of a block, or of a file, up to the } that ends it; rest begins with
// that.
func (r *reader) block(file string, all []token, depth int) (dirs []*directive, rest []token, err error) {
	if depth > maxDepth {
		return nil, nil, fmt.Errorf("%s: blocks or files are more than %d deep", file, maxDepth)
	}
	d := &directive{file: file}
	for i := 0; i < len(all); i++ {
		t := all[i]
		switch {
		case t.mark == 0 && d.name == "":
			d.name, d.line = t.text, t.line
		case t.mark == 0:
			d.args = append(d.args, t.text)
		case t.mark == '}' && d.name == "":
			return dirs, all[i:], nil
		case d.name == "" || t.mark == '}':
			return nil, nil, fmt.Errorf("%s:%d: unexpected %c", file, t.line, t.mark)
		case t.mark == '{':
			inner, after, err := r.block(file, all[i+1:], depth+1)
			if err != nil {
				return nil, nil, err
			}
			if len(after) == 0 {
				return nil, nil, fmt.Errorf("%s:%d: %s has no }", file, d.line, d.name)
			}
			d.block = append([]*directive{}, inner...)
			i = len(all) - len(after)
			dirs, d = append(dirs, d), &directive{file: file}
		case d.name == "include":
			more, err := r.include(d, depth)
			if err != nil {
				return nil, nil, err
			}
			dirs, d = append(dirs, more...), &directive{file: file}
		default:
			dirs, d = append(dirs, d), &directive{file: file}
		}
	}
	if d.name != "" {
		return nil, nil, fmt.Errorf("%s:%d: %s has no ; at its end", file, d.line, d.name)
	}
	return dirs, nil, nil
}

// include returns the directives of the files that a pattern names, in their order. A file that is
// missing may protect something, so it is an error.
func (r *reader) include(d *directive, depth int) (dirs []*directive, err error) {
	pattern := d.arg(0)
	if !filepath.IsAbs(pattern) {
		pattern = filepath.Join(r.root, pattern)
	}
	within, err := filepath.Rel(r.root, pattern)
	outside := err != nil || within == ".." || strings.HasPrefix(within, "../")
	if _, err := os.Stat(pattern); (err != nil || outside) && slices.Contains(usual, filepath.Base(pattern)) {
		r.notes.add(d, "the edge knows media types, has TLS settings of its own, and speaks no FastCGI")
		return nil, nil
	}
	if outside {
		if depth == 0 { // modules
			r.notes.add(d, "it is outside of the folder of the file, and outside of http")
			return nil, nil
		}
		return nil, fmt.Errorf("%s:%d: include %s: outside of %s; must be a file below it", d.file, d.line, d.arg(0), r.root)
	}
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 && !strings.ContainsAny(pattern, "*?[") {
		return nil, fmt.Errorf("%s:%d: include %s: no file is there; must be one below %s", d.file, d.line, d.arg(0), r.root)
	}
	for _, file := range files {
		more, err := r.read(file, depth+1)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, more...)
	}
	return dirs, nil
}
