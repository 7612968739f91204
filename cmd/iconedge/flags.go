package main

import (
	"log/slog"
	"os"
	"path/filepath"

	"github.com/iconedge/iconedge/internal/cli"
)

// logFlags adds the flags that all long-running commands have, those of their log above all, and
// returns a function that makes the logger after the flags have been parsed.
func logFlags(f *cli.Flags, std cli.Streams) func() (*slog.Logger, error) {
	format := f.String("log-format", "text", "`format` of the log on stderr: text or json")
	f.Bool("strict-env", false, "refuse to start if the environment has a variable with the prefix ICONEDGE_ that no "+
		"flag has (default: a warning)")
	level := f.String("log-level", "info", "lowest `level` to log: debug, info, warn or error")
	return func() (*slog.Logger, error) {
		var l slog.Level
		if err := l.UnmarshalText([]byte(*level)); err != nil {
			return nil, cli.Usage("--log-level must be debug, info, warn or error")
		}
		options := &slog.HandlerOptions{Level: l}
		switch *format {
		case "text":
			return slog.New(slog.NewTextHandler(std.Err, options)), nil
		case "json":
			return slog.New(slog.NewJSONHandler(std.Err, options)), nil
		}
		return nil, cli.Usage("--log-format must be text or json")
	}
}

// dataDir returns the folder that ICONEDGE_DATA names, which is that of `run --data`, or else the
// user's data folder (XDG Base Directory Specification).
func dataDir() string {
	if data := os.Getenv(iconedge.Variable("data")); data != "" {
		return data
	}
	base := os.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(base) {
		home, err := os.UserHomeDir()
		if err != nil {
			home = "."
		}
		base = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(base, "iconedge")
}

// storeOf returns the address of the store in the data folder of `run`.
func storeOf(data string) string { return "dir:" + filepath.Join(data, "store") }

// storeFlag adds the flag --store, whose default is the store of `run`.
func storeFlag(f *cli.Flags) *string {
	return f.String("store", storeOf(dataDir()),
		"`address` of the store: dir:PATH or s3://BUCKET[/PREFIX]?endpoint=HOST:PORT&tls=false&region=…")
}
