package main

import (
	"strings"
	"testing"
)

func TestCount(t *testing.T) {
	rows, err := readRows("# no row\nscripts | taken out | origin/svg | ^TestHostile/\nothers | refused | edge | ^Test\n")
	if err != nil {
		t.Fatal(err)
	}
	events := `{"Action":"run","Package":"m/origin/svg","Test":"TestHostile/a"}
{"Action":"pass","Package":"m/origin/svg","Test":"TestHostile/a"}
{"Action":"pass","Package":"m/origin/svg","Test":"TestHostile/b"}
{"Action":"pass","Package":"m/origin/svg","Test":"TestHostile"}
{"Action":"pass","Package":"m/origin/svg","Test":"TestOther"}
not JSON
{"Action":"pass","Package":"m/edge","Test":"TestIt"}
{"Action":"skip","Package":"m/edge","Test":"TestIt"}
{"Action":"pass","Package":"m/edge"}
`
	if err := count(strings.NewReader(events), rows); err != nil {
		t.Fatal(err)
	}
	if rows[0].passed != 2 || rows[1].passed != 1 {
		t.Errorf("%d and %d passed, want 2 and 1: a test with tests of its own does not count, nor one of another package", rows[0].passed,
			rows[1].passed)
	}
	table, err := write(rows)
	if err != nil || !strings.Contains(table, "| scripts | 2 | 2 | taken out |") || !strings.Contains(table, "| **all** | 3 | 3 |") {
		t.Errorf("table: %v\n%s", err, table)
	}
	for _, action := range []string{"fail", "skip", "failpass", "skipskip"} {
		rows[1].add("TestCut", action)
		if _, err := write(rows); err == nil || !strings.Contains(err.Error(), "TestCut") {
			t.Errorf("a test that says %s is not reported", action)
		}
		rows[1].failed, rows[1].skips = 0, 0
	}
	rows[0].passed = 0
	if _, err := write(rows); err == nil {
		t.Error("a row without tests is not reported")
	}
}
