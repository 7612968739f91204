package catalog

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
)

const madeDir = "made" // folder in the mirror for content that is made of a release

// Made returns content that is made of the release, and its SHA-256. The mirror keeps it for the
// next start, under a name that says how it is made: another way needs another name. Like the
// index, it may be used until the last Done, but never written. Made must not be called once the
// release is current.
func (r *Release) Made(name string, build func() ([]byte, error)) ([]byte, [sha256.Size]byte, error) {
	key := madeDir + "/" + r.State() + "." + name
	data, sum, err := r.mirror.readMade(key)
	if err != nil { // missing, or damaged
		built, err := build()
		if err != nil {
			return nil, sum, err
		}
		sum = sha256.Sum256(built)
		if err := r.mirror.saveBytes(key, append(sum[:], built...)); err != nil {
			return nil, sum, err
		}
		if data, sum, err = r.mirror.readMade(key); err != nil {
			return nil, sum, err
		}
	}
	r.made = append(r.made, data)
	return data[sha256.Size:], sum, nil
}

// readMade maps a file that begins with the SHA-256 of the rest.
func (m *mirror) readMade(key string) (data []byte, sum [sha256.Size]byte, err error) {
	f, err := os.Open(m.path(key))
	if err != nil {
		return nil, sum, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		data, err = mapFile(f, info.Size())
	}
	if err != nil {
		return nil, sum, err
	}
	if len(data) >= sha256.Size {
		if sum = sha256.Sum256(data[sha256.Size:]); bytes.Equal(sum[:], data[:sha256.Size]) {
			return data, sum, nil
		}
	}
	unmap(data)
	return nil, sum, fmt.Errorf("reading %s: its hash differs from its first bytes", key)
}
