// This file is a part of package search in make bench-search alone, so that the product does not
// depend on the engines that it is compared with.

package search

import (
	"cmp"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/search/query"

	"github.com/iconedge/iconedge/icon"
	_ "modernc.org/sqlite"
)

func init() { baselines = append(baselines, fts5, bleveIndex) }

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
		rows, err := db.Query("select pack, name from icons where icons match ? and pack = coalesce(nullif(?, ''), "+
			"pack) order by rank limit ?", match(q.Q), q.Pack, firstPage)
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

// bleveIndex is Bleve over the words of names, with its analyser of English, ranked by its TF-IDF.
// A word counts as it is, as the beginning of another, or, if it is long enough, with one edit.
func bleveIndex(t testing.TB, docs []Doc) (string, engine) {
	mapping := bleve.NewIndexMapping()
	mapping.DefaultAnalyzer = en.AnalyzerName
	pack := bleve.NewKeywordFieldMapping()
	mapping.DefaultMapping.AddFieldMappingsAt("pack", pack)
	index, err := bleve.New(filepath.Join(t.TempDir(), "bleve"), mapping)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { index.Close() })
	batch := index.NewBatch()
	for i, d := range docs {
		words := strings.ReplaceAll(d.Name, "-", " ") + " " + d.Pack
		if err := batch.Index(d.Pack+"/"+d.Name, map[string]string{"words": words, "pack": d.Pack}); err != nil {
			t.Fatal(err)
		}
		if batch.Size() == 5000 || i == len(docs)-1 {
			if err := index.Batch(batch); err != nil {
				t.Fatal(err)
			}
			batch.Reset()
		}
	}
	return "Bleve", func(q question) (found []icon.Ref) {
		all := []query.Query{}
		for i, w := range split(q.Q) {
			either := []query.Query{field(bleve.NewMatchQuery(w.typed), 3)}
			if utf8.RuneCountInString(w.typed) >= longWordOfBleve {
				fuzzy := bleve.NewFuzzyQuery(w.typed)
				either = append(either, field(fuzzy, .5))
			}
			if i == len(split(q.Q))-1 {
				either = append(either, field(bleve.NewPrefixQuery(w.typed), 1))
			}
			all = append(all, bleve.NewDisjunctionQuery(either...))
		}
		if q.Pack != "" {
			in := bleve.NewTermQuery(q.Pack)
			in.SetField("pack")
			all = append(all, in)
		}
		if len(all) == 0 {
			return nil
		}
		results, err := index.Search(bleve.NewSearchRequestOptions(bleve.NewConjunctionQuery(all...), firstPage, 0, false))
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range results.Hits {
			if r, err := icon.ParseRef(h.ID); err == nil {
				found = append(found, r)
			}
		}
		return found
	}
}

// longWordOfBleve is the number of letters of a word that may have a typo, as in this package.
const longWordOfBleve = minTypoLen

// field restricts a query to the words of names.
func field[Q interface {
	query.FieldableQuery
	query.BoostableQuery
}](q Q, boost float64) query.Query {
	q.SetField("words")
	q.SetBoost(boost)
	return q
}
