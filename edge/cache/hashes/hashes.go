// Package hashes decides by which numbers the cache knows keys, their variants and surrogate keys,
// and which shard an entry is in.
package hashes

import "hash/maphash"

const (
	// Shards is the number of shards.
	Shards    = 64
	shardBits = (Shards - 1) << 32 // of a hash
)

// ShardOf returns the number of the shard of a hash. It is the same for all variants of a key.
func ShardOf(hash uint64) int { return int(hash >> 32 % Shards) }

// Seeds are the seeds of the hashes of keys and surrogate keys. They differ between processes, so
// that no client can choose names that collide.
type Seeds struct{ url, secondary, tag maphash.Seed }

// NewSeeds returns random seeds.
func NewSeeds() Seeds { return Seeds{maphash.MakeSeed(), maphash.MakeSeed(), maphash.MakeSeed()} }

// LabelOfKey returns the label of a key. Every entry has it besides the labels of its surrogate
// keys.
func (s *Seeds) LabelOfKey(key string) uint64 { return maphash.String(s.url, key) }

// LabelOfTag returns the label of a surrogate key.
func (s *Seeds) LabelOfTag(tag string) uint64 { return maphash.String(s.tag, tag) }

// LabelsOf appends the labels of an entry: that of its key, and those of its surrogate keys.
func (s *Seeds) LabelsOf(labels []uint64, key string, tags []string) []uint64 {
	labels = append(labels, s.LabelOfKey(key))
	for _, t := range tags {
		labels = append(labels, s.LabelOfTag(t))
	}
	return labels
}

// HashOf returns the hash of a variant, which is in the same shard as other variants of its key.
// The hash of a response without variants is the label of its key.
func (s *Seeds) HashOf(label uint64, secondary string) uint64 {
	if secondary == "" {
		return label
	}
	return label ^ maphash.String(s.secondary, secondary)&^shardBits
}
