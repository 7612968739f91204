//go:build baseline

package search

import (
	"cmp"
	"database/sql"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/icon"
	_ "modernc.org/sqlite"
)

func init() { baseline = fts5 }

// fts5 is SQLite's full-text index over the words of names, with Porter's stems and prefixes,
// ranked by BM25: a standard engine to compare with.
func fts5(t testing.TB, docs []Doc) (string, engine) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	run := func(query string, args ...any) {
		if _, err := db.Exec(query, args...); err != nil {
			t.Fatal(err)
		}
	}
	run(`create virtual table icons using fts5(words, pack unindexed, name unindexed, tokenize='porter unicode61', prefix='2 3')`)
	run("begin")
	insert, err := db.Prepare("insert into icons values (?, ?, ?)")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range docs {
		if _, err := insert.Exec(strings.ReplaceAll(d.Name, "-", " ")+" "+d.Pack, d.Pack, d.Name); err != nil {
			t.Fatal(err)
		}
	}
	run("commit")
	return "SQLite FTS5", func(q question) (found []icon.Ref) {
		rows, err := db.Query("select pack, name from icons where icons match ? and pack = coalesce(nullif(?, ''), pack) order by rank limit ?", match(q.Q), q.Pack, firstPage)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var r icon.Ref
			if err := cmp.Or(rows.Scan(&r.Pack, &r.Name)); err != nil {
				t.Fatal(err)
			}
			found = append(found, r)
		}
		return found
	}
}

// match returns the query in FTS5's language: all words, the last as a prefix.
func match(text string) string {
	var words []string
	for _, w := range split(text) {
		words = append(words, `"`+w.typed+`"`)
	}
	return strings.Join(words, " ") + "*"
}
