package apps

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/test/golden"
	"github.com/iconedge/iconedge/test/harness"
)

var (
	figuresFile = filepath.Join("..", "..", "tools", "apps", "figures.json")
	pageFile    = filepath.Join("..", "..", "docs", "reference", "applications.md")
)

// A row says what a client did with an application through the edge, without a difference.
type row struct {
	Name          string `json:"name"`
	Recipe        string `json:"recipe,omitempty"` // the file of the edge; empty: none, --proxy-all
	Version       string `json:"version"`
	Client        string `json:"client"`
	ClientVersion string `json:"client_version,omitempty"`
	Did           string `json:"did"`
	TLS           bool   `json:"tls,omitempty"`
	Requests      int    `json:"requests,omitempty"`
	Hits          int    `json:"hits,omitempty"`
	Bytes         int    `json:"bytes,omitempty"`
	Date          string `json:"date"`
}

// record replaces the row of an application, and writes the page.
func record(t *testing.T, r row) {
	t.Helper()
	r.Date = time.Now().UTC().Format(time.DateOnly)
	var rows []row
	harness.ReadJSON(t, figuresFile, &rows)
	rows = slices.DeleteFunc(rows, func(old row) bool { return old.Name == r.Name })
	rows = inOrder(append(rows, r))
	harness.WritePage(t, figuresFile, rows, pageFile, page(rows))
}

// names returns the names of all rows, in the order of the page.
func names() (all []string) {
	for _, a := range applications {
		all = append(all, a.name)
	}
	all = append(all, grpcName)
	for _, r := range recipes {
		all = append(all, r.server)
	}
	for _, d := range differs {
		all = append(all, d.name)
	}
	return all
}

// inOrder sorts rows as the page has them, and leaves out those of applications that the tests do
// not know.
func inOrder(rows []row) (sorted []row) {
	for _, name := range names() {
		if i := slices.IndexFunc(rows, func(r row) bool { return r.Name == name }); i >= 0 {
			sorted = append(sorted, rows[i])
		}
	}
	return sorted
}

const pageHead = `# Applications

**In short:** Real applications work unchanged behind an edge with ` + "`--proxy-all`" + `: what their own clients see is the same with and without it, byte for byte. The table
lists the applications, with what their clients did.

The applications on this page run unmodified behind ` + "`iconedge edge --proxy-all`" + `, with the clients that people use for them.
Each client runs three times with an application that was started with empty storage: against the application itself, through an edge
over HTTP/1.1, and, where the table says so, through an edge over TLS, with HTTP/2 where the client speaks it. **Everything that the client
saw, files, bodies, fields and exit statuses, is the same.** [proxy.md](../how-to/proxy.md#applications) has the command line of the edge for each.

` + "`make apps`" + ` installs the applications, runs all of them, and writes this page. ` + "`make test`" + ` runs those that need no installation beyond npm's.
`

const sitesHead = `
## An edge alone

Each application here runs behind an edge alone, without another server in front of it, by the file of a recipe as it stands in
[sites.md](../how-to/sites.md): only addresses and folders are those of the test. People are sessions of Chromium at the same time, each of which
checks that it sees its own pages only. Clients go over HTTP/1.1, and over TLS with HTTP/2 where they speak it.

| recipe | application | clients | what they did | requests at the edge | hits | date |
|---|---|---|---|---|---|---|
`

// anchor returns the address of a heading within its page.
func anchor(heading string) string { return strings.ReplaceAll(strings.ToLower(heading), " ", "-") }

const differHead = `
## The differ

Generated requests go to an application and through an edge, %d at a time: methods, conditions, ranges, codings, cookies, credentials, bodies in
both framings, odd paths, HTTP/1.0. Status, fields and bytes of the responses are the same. The edge may only add ` + "`Age`, `Via`, `Cache-Status`, `Date` and `Alt-Svc`" + `,
and frames the body as it likes (` + "`Connection`, `Keep-Alive`, `Transfer-Encoding`, `Content-Length`" + `).

`

// page returns docs/reference/applications.md.
func page(rows []row) []byte {
	var b strings.Builder
	b.WriteString(pageHead)
	b.WriteString("\n| application | client | what the client did | TLS | requests at the edge | hits | bytes " +
		"compared | date |\n|---|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		if r.Client != differClient && r.Recipe == "" {
			fmt.Fprintf(&b, "| %s %s | %s | %s | %s | %s | %s | %s | %s |\n", r.Name, r.Version,
				strings.TrimSpace(r.Client+" "+r.ClientVersion), r.Did,
				map[bool]string{true: "yes", false: "no"}[r.TLS], counted(r.Requests), thousands(r.Hits), counted(r.Bytes), r.Date)
		}
	}
	if missing := notRun(rows); len(missing) > 0 {
		fmt.Fprintf(&b, "\nNot run yet by `make apps`: %s.\n", strings.Join(missing, "; "))
	}
	b.WriteString(sitesHead)
	for _, r := range rows {
		if r.Recipe != "" {
			fmt.Fprintf(&b, "| [%s](../how-to/sites.md#%s) | %s | %s | %s | %s | %s | %s |\n", r.Recipe, anchor(r.Recipe),
				strings.TrimSpace(r.Name+" "+r.Version), strings.TrimSpace(r.Client+" "+r.ClientVersion), r.Did,
				counted(r.Requests), thousands(r.Hits), r.Date)
		}
	}
	fmt.Fprintf(&b, differHead, atATime)
	b.WriteString("| application | requests for | requests | hits | bytes compared | date |\n|---|---|---|---|---|---|\n")
	for _, r := range rows {
		if r.Client == differClient {
			fmt.Fprintf(&b, "| %s %s | %s | %s | %s | %s | %s |\n", r.Name, r.Version, r.Did, thousands(r.Requests),
				thousands(r.Hits), thousands(r.Bytes), r.Date)
		}
	}
	return []byte(b.String())
}

// counted writes a number with commas, or a dash if nothing was counted.
func counted(n int) string {
	if n == 0 {
		return "–"
	}
	return thousands(n)
}

// thousands writes a number with commas.
func thousands(n int) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// notRun returns the names without a row.
func notRun(rows []row) (missing []string) {
	for _, name := range names() {
		if !slices.ContainsFunc(rows, func(r row) bool { return r.Name == name }) {
			missing = append(missing, name)
		}
	}
	return missing
}

// TestPage: the page is made from the figures of the tree, and says which applications have none.
func TestPage(t *testing.T) {
	var rows []row
	harness.ReadJSON(t, figuresFile, &rows)
	golden.Check(t, pageFile, page(inOrder(rows)))
}

// TestProxyPage: docs/how-to/proxy.md has the lines for nginx that were tried.
func TestProxyPage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "how-to", "proxy.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range applications {
		if !strings.Contains(string(text), a.nginx) {
			t.Errorf("proxy.md lacks the lines for nginx of %s: %s", a.name, a.nginx)
		}
	}
}
