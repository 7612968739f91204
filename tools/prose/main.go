// Command prose checks the English of comments, documents, help texts, log messages and errors.
//
//	go run -C tools ./prose ..
//
// It reports each comment line of Go source that is wider than 100 columns, each sentence or name
// that matches a construction of rules.txt, and each name in a comment of Go source that the code
// does not have. A finding is FILE:LINE, the fault and the mend. ordinary.txt has words that look
// like names. It exits with status 1 if there is any finding. With arguments after the root, it
// checks those paths alone.
package main

import (
	_ "embed"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed rules.txt
var rulesText string

//go:embed ordinary.txt
var ordinaryText string

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 {
		log.Print("usage: prose ROOT [PATH...]")
		os.Exit(2)
	}
	found, err := run(os.Args[1], os.Args[2:])
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range found {
		fmt.Println(f)
	}
	if len(found) > 0 {
		log.Fatalf("%d findings: the rules are in tools/prose/rules.txt, the words that are no names in ordinary.txt", len(found))
	}
}

// run checks the files that git tracks below root: all of them, or those below only.
func run(root string, only []string) ([]string, error) {
	rules, err := parseRules(rulesText)
	if err != nil {
		return nil, err
	}
	files, err := tracked(root)
	if err != nil {
		return nil, err
	}
	read := func(file string) (string, error) {
		src, err := os.ReadFile(filepath.Join(root, file))
		return string(src), err
	}
	names, err := newIndex(files, read, ordinaryText)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, file := range files {
		if len(only) > 0 && !below(file, only) {
			continue
		}
		src, err := read(file)
		if err != nil {
			return nil, err
		}
		found = append(found, check(file, src, rules)...)
		found = append(found, names.check(file, src)...)
	}
	return found, nil
}

// tracked returns the paths of the files that git tracks below root, relative to it.
func tracked(root string) ([]string, error) {
	cmd := exec.Command("git", "ls-files", "-z")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the files of %s with git: %w", root, err)
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 }), nil
}

// below reports whether file equals or lies in a path of list.
func below(file string, list []string) bool {
	return slices.ContainsFunc(list, func(path string) bool { return file == path || strings.HasPrefix(file, path+"/") })
}
