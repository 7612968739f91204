package search

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// indexOf names the variable with the index that TestMapped opens.
const indexOf = "ICONEDGE_SEARCH_INDEX"

// mapped runs TestMapped in a process of its own, which has mapped an index, and returns its
// figures: the time to open the index, and the anonymous memory after 1,000 queries, in bytes.
func mapped(t *testing.T, index []byte) (opened time.Duration, anonymous int) {
	path := t.TempDir() + "/search.idx"
	if err := os.WriteFile(path, index, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMapped$", "-test.v")
	cmd.Env = append(os.Environ(), indexOf+"="+path)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_, figures, _ := strings.Cut(string(out), "figures: ")
	if _, err := fmt.Sscan(figures, (*int64)(&opened), &anonymous); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return opened, anonymous
}

// TestMapped opens a mapped index and sends it 1,000 queries.
func TestMapped(t *testing.T) {
	path := os.Getenv(indexOf)
	if path == "" {
		t.Skip(indexOf + " is not set: see the function mapped")
	}
	_, questions := questions(t)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	used := processTime()
	data, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	x, err := Open(data)
	if err != nil {
		t.Fatal(err)
	}
	opened := processTime() - used
	before := anonymous(t)
	for i := range 1000 {
		q := questions[i%len(questions)]
		x.Search(Query{Text: q.Q, Pack: q.Pack, Limit: firstPage})
		x.Complete(q.Q)
	}
	fmt.Println("figures:", int64(opened), anonymous(t), "of which without queries", before)
}

// anonymous returns RssAnon of this process in bytes.
func anonymous(t *testing.T) int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(status, []byte("RssAnon:"))
	kb, err := strconv.Atoi(strings.Fields(string(rest))[0])
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}
