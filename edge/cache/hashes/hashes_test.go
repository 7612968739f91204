package hashes

import (
	"fmt"
	"testing"
)

// All variants of a key are in its shard, and have hashes of their own; without a secondary key the
// hash is the label.
func TestHashOf(t *testing.T) {
	seeds := NewSeeds()
	for i := range 100 {
		label := seeds.LabelOfKey(fmt.Sprint("/", i))
		seen := map[uint64]bool{}
		for v := range 100 {
			secondary := fmt.Sprint(v)
			if v == 0 {
				secondary = ""
			}
			hash := seeds.HashOf(label, secondary)
			if ShardOf(hash) != ShardOf(label) || seen[hash] || (hash == label) != (v == 0) {
				t.Errorf("variant %q of /%d has the hash %x; the label is %x", secondary, i, hash, label)
			}
			seen[hash] = true
		}
	}
}

// A key and a surrogate key of the same name have different labels.
func TestLabels(t *testing.T) {
	seeds, others := NewSeeds(), NewSeeds()
	labels := seeds.LabelsOf(nil, "/a", []string{"/a", "b"})
	if len(labels) != 3 || labels[0] != seeds.LabelOfKey("/a") || labels[1] != seeds.LabelOfTag("/a") || labels[0] == labels[1] {
		t.Errorf("LabelsOf = %x", labels)
	}
	if others.LabelOfKey("/a") == labels[0] {
		t.Error("two processes have the same labels")
	}
}
