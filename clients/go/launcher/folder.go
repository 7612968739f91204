package launcher

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	iconsFor    = 24 * time.Hour  // for which the file of an icon is used
	searchesFor = 5 * time.Minute // for which the response to a search is used again
	most        = 30              // searches in window
	window      = time.Minute
	mostBytes   = 32 << 20 // of all files
)

// A folder stores icons and searches for processes that start later. Errors of the file system only
// cost requests. Several processes may use it at once: files are replaced, never changed.
type folder string

// cacheFolder returns iconedge in the user's cache folder (XDG Base Directory Specification).
func cacheFolder() string {
	base := os.Getenv("XDG_CACHE_HOME")
	if !filepath.IsAbs(base) {
		var err error
		if base, err = os.UserCacheDir(); err != nil {
			base = os.TempDir()
		}
	}
	return filepath.Join(base, "iconedge")
}

func (f folder) path(name string) string { return filepath.Join(string(f), filepath.FromSlash(name)) }

// stored returns the file of an icon, however old; "" if there is none.
func (f folder) stored(name string) string {
	file := f.path("icons/" + name)
	if info, err := os.Stat(file); err != nil || info.Size() == 0 {
		return ""
	}
	return file
}

// fresh returns the file of an icon that may be used without a request, or "".
func (f folder) fresh(name string, now time.Time) string {
	if info, err := os.Stat(f.path("icons/" + name)); err != nil || now.Sub(info.ModTime()) >= iconsFor {
		return ""
	}
	return f.stored(name)
}

func (f folder) store(name string, svg []byte) (file string, err error) {
	file = f.path("icons/" + name)
	return file, replace(file, svg)
}

// replace writes a file under another name and renames it, so that no reader sees a half of it.
func replace(file string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(file), ".new-*")
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	if err = cmp.Or(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), file)
	}
	if err != nil {
		os.Remove(temp.Name())
	}
	return err
}

func searchFile(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "searches/" + hex.EncodeToString(sum[:16]) + ".json"
}

// search returns the response to a search, or nil.
func (f folder) search(key string, now time.Time) []byte {
	file := f.path(searchFile(key))
	if info, err := os.Stat(file); err != nil || now.Sub(info.ModTime()) >= searchesFor {
		return nil
	}
	body, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	return body
}

func (f folder) storeSearch(key string, body []byte) {
	if replace(f.path(searchFile(key)), body) == nil {
		replace(f.path("last.json"), body)
	}
}

// lastSearch returns the last response to any search, or nil.
func (f folder) lastSearch() []byte {
	body, err := os.ReadFile(f.path("last.json"))
	if err != nil {
		return nil
	}
	return body
}

// takeTurn notes that a search starts, unless too many have started in the last minute: then it
// returns the time until one may.
func (f folder) takeTurn(now time.Time) time.Duration {
	var started []int64 // Unix time in ms
	file := f.path("started.json")
	if data, err := os.ReadFile(file); err == nil {
		json.Unmarshal(data, &started)
	}
	started = slices.DeleteFunc(started, func(ms int64) bool {
		age := now.Sub(time.UnixMilli(ms))
		return age >= window || age < 0 // the clock was set back
	})
	if len(started) >= most {
		return window - now.Sub(time.UnixMilli(started[0]))
	}
	if data, err := json.Marshal(append(started, now.UnixMilli())); err == nil {
		replace(file, data)
	}
	return 0
}

// prune removes the oldest files while all of them take more than mostBytes.
func (f folder) prune() {
	type stored struct {
		file string
		size int64
		at   time.Time
	}
	var files []stored
	var bytes int64
	filepath.WalkDir(string(f), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			files = append(files, stored{path, info.Size(), info.ModTime()})
			bytes += info.Size()
		}
		return nil
	})
	if bytes <= mostBytes {
		return
	}
	slices.SortFunc(files, func(a, b stored) int { return a.at.Compare(b.at) })
	for _, one := range files {
		if bytes <= mostBytes*3/4 {
			return
		}
		if os.Remove(one.file) == nil {
			bytes -= one.size
		}
	}
}
