package main

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestUnreadable(t *testing.T) {
	long := strings.Repeat("a", 150)
	for _, row := range []struct {
		name, src string
		want      []int
	}{
		{"short lines", "package p\n\nvar a = b && c || d && e || f", nil},
		{"a long line", "package p\n\nvar a" + long + " = 1", []int{3}},
		{"tabs are wide", "package p\n\nfunc f() {\n" + strings.Repeat("\t", 20) + "a" + long[:70] + "()\n}", []int{4}},
		{"a raw string", "package p\n\nvar a = `" + long + "\n" + long + "`", nil},
		{"a URL", "package p\n\nvar a = \"https://a.test/" + long + "\"", nil},
		{"many operators", "package p\n\nvar a = b && c || d && e || f && g", []int{3}},
		{"many operators in parentheses", "package p\n\nvar a = b && (c || d && !(e || f && g))", []int{3}},
		{"those of a function within", "package p\n\nvar a = b && f(func() bool { return c && d && e }) && g && h && i", nil},
		{"many parameters", "package p\n\nfunc f(a, b, c int, d, e, g string) {}", []int{3}},
		{"a context and a test", "package p\n\nfunc f(ctx context.Context, t *testing.T, a, b, c int, d, e string) {}", nil},
		{"a test at the end", "package p\n\nfunc f(a, b, c int, d, e string, t *testing.T) {}", []int{3}},
		{"booleans in a call", "package p\n\nvar a = f(b, true, false)", []int{3}},
		{"one boolean in a call", "package p\n\nvar a = f(b, true)", nil},
		{"a swap", "package p\n\nvar a = b.CompareAndSwap(false, true)", nil},
		{"booleans in a row", "package p\n\nvar a = []row{\n\t{\"a\", true, false},\n}", []int{4}},
		{"booleans alone", "package p\n\nvar a = []bool{true, false}", nil},
		{"booleans with names", "package p\n\nvar a = row{b: true, c: false}", nil},
		{"a class of characters", "package p\n\nvar a = 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '-'", nil},
	} {
		if got := slices.Sorted(maps.Keys(unreadable("a.go", row.src))); !slices.Equal(got, row.want) {
			t.Errorf("%s: lines %v, want %v", row.name, got, row.want)
		}
	}
	if got := unreadable("a_test.go", "package p\n\nvar a = b && c || d && e || f && g"); len(got) > 0 {
		t.Errorf("conditions of a test: %v", got)
	}
}

func TestLongText(t *testing.T) {
	long := strings.Repeat("word ", 30)
	src := "short\n" + long + "\n| " + long + "|\n```sh\n" + long + "\n```\n[a](https://a.test) " + long + "\n- " + long
	if got, want := slices.Sorted(maps.Keys(longText(src))), []int{2, 8}; !slices.Equal(got, want) {
		t.Errorf("lines %v, want %v", got, want)
	}
}
