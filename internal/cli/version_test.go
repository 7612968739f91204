package cli

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	source := strings.TrimSpace(number)
	of := func(main string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: main}, Settings: settings}
	}
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "5afd84de6a12ffffffffffffffffffffffffffff"}
	clean, dirty := debug.BuildSetting{Key: "vcs.modified", Value: "false"}, debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for _, row := range []struct {
		name string
		info *debug.BuildInfo
		want string
	}{
		{"a clone", of("v0.0.0-20261128030839-5afd84de6a12", commit, clean), source + "+5afd84de6a12"},
		{"a clone with changes", of("(devel)", commit, dirty), source + "+5afd84de6a12.dirty"},
		{"a clone of the tagged commit", of("v"+source, commit, clean), source},
		{"go install of the version", of("v" + source), source},
		{"go install of a commit", of("v0.0.0-20261128030839-5afd84de6a12"), source + "+5afd84de6a12"},
		{"sources without a repository", of("(devel)"), source},
	} {
		if got := sourceVersion(row.info); got != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
	}
	if got := BuildVersion("1.2.3"); got != "1.2.3" {
		t.Errorf("stamped with 1.2.3: %s", got)
	}
}
