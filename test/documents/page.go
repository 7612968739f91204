// Package documents runs the commands of the documents. Its tests are the only users: a page whose
// commands no longer print what it says fails.
package documents

import (
	"os"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// A Block is a fenced block of a page, or a comment with commands.
type Block struct {
	Line     int
	Language string
	Info     string // the words after the language
	Text     string
}

// Languages of blocks with commands.
const (
	console = "console" // commands after "$ ", each followed by its output: the test runs them
	sh      = "sh"      // commands that the test does not run, for the reason in Info
	before  = "before"  // a comment: commands that the page needs and does not show
)

// Blocks returns the fenced blocks of a page, and the comments that begin with "before:".
func Blocks(file string) ([]Block, error) {
	source, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var blocks []Block
	doc := goldmark.DefaultParser().Parse(text.NewReader(source))
	err = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering || n.Type() != ast.TypeBlock || n.Lines().Len() == 0 {
			return ast.WalkContinue, nil
		}
		b := Block{Line: strings.Count(string(source[:n.Lines().At(0).Start]), "\n"), Text: string(n.Lines().Value(source))}
		switch n := n.(type) {
		case *ast.FencedCodeBlock:
			if n.Info != nil {
				b.Language, b.Info, _ = strings.Cut(strings.TrimSpace(string(n.Info.Value(source))), " ")
			}
		case *ast.HTMLBlock:
			commands, ok := strings.CutPrefix(b.Text, "<!-- before:")
			if !ok {
				return ast.WalkContinue, nil
			}
			b.Language, b.Text = before, strings.TrimSpace(commands)
		default:
			return ast.WalkContinue, nil
		}
		blocks = append(blocks, b)
		return ast.WalkContinue, nil
	})
	return blocks, err
}

// A Command is one command of a block, with the output that the page promises.
type Command struct {
	Text   string
	Output string
}

// Commands returns the commands of a console block. A line that ends with a backslash continues in
// the next one.
func (b Block) Commands() (commands []Command) {
	continued := false
	for line := range strings.Lines(b.Text) {
		last := len(commands) - 1
		switch command, ok := strings.CutPrefix(line, "$ "); {
		case ok:
			commands = append(commands, Command{Text: command})
		case last < 0:
			continue // TestMarked reports it
		case continued:
			commands[last].Text += line
		default:
			commands[last].Output += line
		}
		continued = strings.HasSuffix(line, "\\\n")
	}
	return commands
}

// gap stands for text that differs from run to run: within a line, or as a line of its own for any
// number of lines.
const gap = "…"

// Pattern returns the pattern of the promised output. A server continues to write after it.
func (c Command) Pattern(server bool) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`^`)
	for line := range strings.Lines(c.Output) {
		if line = strings.TrimRight(line, " \n"); line == gap {
			b.WriteString(`(?:[^\n]*\n)*?`)
			continue
		}
		parts := strings.Split(line, gap)
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		b.WriteString(strings.Join(parts, `[^\n]*`) + ` *\n`)
	}
	if !server {
		b.WriteString(`$`)
	}
	return regexp.MustCompile(b.String())
}
