package cli

import (
	_ "embed"
	"runtime/debug"
	"strings"
)

// number is the version that this source becomes or has become. Packages, chart and clients have
// it too: a test of the repository's root compares them.
//
//go:embed version.txt
var number string

// BuildVersion returns the version of a program: the one that its build has stamped, or the number
// of the source, with the commit behind a plus sign where the program was built from a clone.
func BuildVersion(stamped string) string {
	if stamped != "" {
		return stamped
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return strings.TrimSpace(number)
	}
	return sourceVersion(info)
}

// sourceVersion returns 0.1.0+5afd84de6a12.dirty for a clone with changes, and 0.1.0 where nothing
// is known of a commit, as after go install with that version.
func sourceVersion(info *debug.BuildInfo) string {
	version, commit, dirty := strings.TrimSpace(number), "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = ".dirty"
		}
	}
	if commit == "" && strings.Count(info.Main.Version, "-") >= 2 {
		// go install of a commit makes a pseudo-version, v0.1.1-0.20261128030839-5afd84de6a12.
		commit = info.Main.Version[strings.LastIndexByte(info.Main.Version, '-')+1:]
	}
	if commit == "" || info.Main.Version == "v"+version {
		return version
	}
	return version + "+" + commit + dirty
}
