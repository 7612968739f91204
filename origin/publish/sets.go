package publish

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/origin/release"
)

// maxSets is the largest size in bytes of the sets of a release; those of the whole @iconify/json
// have 1.2 MB.
const maxSets = 64 << 20

// describe completes the set of the pack once all icons are known.
func (w *packWriter) describe(s *set) {
	w.set = s.about
	w.set.Key, w.set.Total = w.entry.Pack.Key, w.total
	facts := map[string]json.RawMessage{"total": strconv.AppendInt(nil, int64(w.total), 10)}
	if _, ok := w.source.(*folder); ok { // its palette is an instruction; clients want the result
		facts["palette"] = strconv.AppendBool(nil, w.entry.Palette)
	}
	w.set.Info = withFacts(w.pack.about().raw, facts)
}

// withFacts returns the description of a pack with its real number of icons, as Iconify's own
// service does, and for a folder with whether icons have colours of their own. Everything else
// stays as it is in the source.
func withFacts(raw json.RawMessage, facts map[string]json.RawMessage) json.RawMessage {
	if raw == nil {
		return nil
	}
	var b bytes.Buffer
	d := json.NewDecoder(bytes.NewReader(raw))
	b.WriteByte('{')
	err := object(d, func(name string) error {
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		if fact, ok := facts[name]; ok {
			value = fact
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(name)
		b.Write(append(append(key, ':'), value...))
		return err
	})
	if err != nil { // raw was decoded before
		return nil
	}
	b.WriteByte('}')
	return b.Bytes()
}

// sets writes the file with the sets of all packs, in the order of the sources.
func (p *publication) sets(packs []*pack) (blobFile, error) {
	var all []release.Set
	for _, k := range slices.SortedStableFunc(slices.Values(packs),
		func(a, b *pack) int { return cmp.Compare(a.about().order, b.about().order) }) {
		k.set.Seq = p.seq
		if old, ok := p.prev.sets[k.set.Key]; ok && old.Same(k.set) {
			k.set.Seq = old.Seq
		}
		all = append(all, k.set)
	}
	data, err := release.EncodeSets(all)
	if err != nil {
		return blobFile{}, err
	}
	sum := sha256.Sum256(data)
	f := blobFile{path: filepath.Join(p.work, "sets.json"), blob: release.Blob{Hash: hex.EncodeToString(sum[:]), Size: int64(len(data))}}
	f.key = release.SetsKey(f.blob.Hash)
	return f, os.WriteFile(f.path, data, 0o600)
}

// readSets reads the sets of a release. A release of an earlier program has none.
func readSets(ctx context.Context, b objectstore.Bucket, m *release.Manifest) (map[string]release.Set, error) {
	if m == nil || m.Sets == (release.Blob{}) {
		return nil, nil
	}
	key := release.SetsKey(m.Sets.Hash)
	data, err := objectstore.ReadAll(ctx, b, key, maxSets)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", key, err)
	}
	sum := sha256.Sum256(data)
	if hex.EncodeToString(sum[:]) != m.Sets.Hash {
		return nil, fmt.Errorf("reading %s: %w: its content does not have its hash", key, release.ErrDamaged)
	}
	sets, err := release.ParseSets(data)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", key, err)
	}
	byKey := map[string]release.Set{}
	for _, s := range sets {
		byKey[s.Key] = s
	}
	return byKey, nil
}
