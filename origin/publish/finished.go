package publish

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/iconedge/iconedge/origin/release"
)

// finishedSuffix ends the name of the file that records a finished pack.
const finishedSuffix = ".finished"

// A finished records a pack that a publication has built. If the publication ends early, the next
// one with the same Options.Work takes the pack over instead of building it again.
type finished struct {
	Was     string // the archive of the pack in the release with which the new one was compared
	Seq     int    // of the publication, which the icons of the archive have
	Entry   release.PackEntry
	Set     release.Set
	Changes PackChanges
	Looks   Look
	Removed []Removed
}

// was returns the hash of the archive that a pack has in the current release; "": none.
func (p *publication) was(k *pack) string {
	if old, ok := p.prev.pack(k.about().key); ok {
		return old.Archive.Hash
	}
	return ""
}

// finish records that a pack has been built.
func (p *publication) finish(k *pack) error {
	data, err := json.Marshal(finished{p.was(k), p.seq, k.entry, k.set, k.changes, k.looks, k.removed})
	if err != nil {
		return err
	}
	return os.WriteFile(p.workFile(k, finishedSuffix), data, 0o600)
}

func (p *publication) workFile(k *pack, suffix string) string {
	return filepath.Join(p.work, k.about().key+suffix)
}

// takeFinished takes a pack over from a publication that ended early. It reports whether the pack
// has the same source, and its files are whole.
func (p *publication) takeFinished(k *pack) bool {
	data, err := os.ReadFile(p.workFile(k, finishedSuffix))
	var f finished
	if err != nil || json.Unmarshal(data, &f) != nil {
		return false
	}
	archive, docs := p.workFile(k, archiveSuffix), p.workFile(k, docsSuffix)
	if f.Entry.Source != k.entry.Source || f.Was != p.was(k) || f.Seq != p.seq || !isWhole(archive, f.Entry.Archive) {
		return false
	}
	if !f.Entry.Hidden {
		if !isWhole(docs, f.Entry.Docs) {
			return false
		}
		k.docsFile = docs
	}
	k.entry, k.set, k.changes, k.looks, k.removed, k.file = f.Entry, f.Set, f.Changes, f.Looks, f.Removed, archive
	return true
}

// isWhole reports whether a file has the content that a blob names.
func isWhole(path string, b release.Blob) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return err == nil && n == b.Size && hex.EncodeToString(h.Sum(nil)) == b.Hash
}

// hasFinished reports whether a working folder has finished packs.
func hasFinished(work string) bool {
	entries, err := os.ReadDir(work)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), finishedSuffix) {
			return true
		}
	}
	return false
}
