// Command prose checks the English of comments, documents, help texts, log messages and errors.
//
//	go run -C tools ./prose ..
//
// It reports each comment line of Go source that is wider than 100 columns, and each sentence that
// matches a construction of rules.txt, as FILE:LINE: what is wrong; what would be right. It exits
// with status 1 if there is any finding. The paths in later.txt are not checked yet; a path there
// that has no finding any more is itself a finding, so the list can only shrink.
//
// With arguments after the root, it checks those paths alone, also those of later.txt.
package main

import (
	_ "embed"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed rules.txt
var rulesText string

//go:embed later.txt
var laterText string

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
		log.Fatalf("%d findings: the rules are in tools/prose/rules.txt", len(found))
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
	later := strings.Fields(laterText)
	if len(only) > 0 {
		later = nil
	}
	var found []string
	clean := map[string]bool{} // paths of later.txt without a finding so far
	for _, path := range later {
		clean[path] = true
	}
	for _, file := range files {
		if len(only) > 0 && below(file, only) == "" {
			continue
		}
		src, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return nil, err
		}
		findings := check(file, string(src), rules)
		if path := below(file, later); path != "" {
			clean[path] = clean[path] && len(findings) == 0
			continue
		}
		found = append(found, findings...)
	}
	for _, path := range later {
		if clean[path] {
			found = append(found, "tools/prose/later.txt: "+path+" has no findings left; remove the line")
		}
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

// below returns the path of list that file equals or lies in. A path that ends in /* covers the
// files of one folder, not those of its subfolders. The result is empty where there is none.
func below(file string, list []string) string {
	for _, path := range list {
		folder, flat := strings.CutSuffix(path, "/*")
		rest, inside := strings.CutPrefix(file, folder+"/")
		if file == path || inside && !(flat && strings.Contains(rest, "/")) {
			return path
		}
	}
	return ""
}
