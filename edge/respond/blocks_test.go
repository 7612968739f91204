package respond

import (
	"testing"

	"github.com/iconedge/iconedge/edge/cache"
)

// A library has hundreds of packs, and the length of their lines decides where these lie in memory.
// The block of each response is still made only once.
func TestBlocksOfManyPacks(t *testing.T) {
	const packs = 500
	for _, apart := range []int{576, 640, 768, 896, 1024, 1152, 1280, 2048, 4096} {
		var b Blocks
		text := make([]byte, packs*apart)
		heads, made := make([]cache.Head, packs), make([]*Block, packs)
		for i := range heads {
			at := text[i*apart:]
			head := &heads[i]
			head.Type, head.Always, head.WithBody = at[:copy(at, "A: 1\r\n")], at[100:100+copy(at[100:], "B: 2\r\nC: 3\r\n")], at[200:200]
			made[i] = b.Of(head)
		}
		for i := range heads {
			if b.Of(&heads[i]) != made[i] {
				t.Errorf("lines that are %d bytes apart: the block of pack %d was forgotten", apart, i)
				break
			}
		}
	}
}

// Each of the three parts of a head has its block.
func TestBlockBelongsToOneHead(t *testing.T) {
	lines := []byte("A: 1\r\nB: 2\r\n")
	heads := []cache.Head{{Type: lines[:6], Always: lines, WithBody: lines[6:]}, {Always: lines, WithBody: lines[6:]},
		{Type: lines[:6], Always: lines}, {Type: lines[:6], Always: lines[:6], WithBody: lines[6:]}}
	var b Blocks
	for i := range heads {
		got := b.Of(&heads[i])
		for name, part := range map[string]struct{ fields, lines int }{
			"Type": {len(got.kind), len(heads[i].Type)}, "Always": {len(got.always), len(heads[i].Always)},
			"WithBody": {len(got.withBody), len(heads[i].WithBody)},
		} {
			if part.fields != part.lines/6 {
				t.Errorf("head %d: %d fields of %s in %d bytes", i, part.fields, name, part.lines)
			}
		}
	}
}
