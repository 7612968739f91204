//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/iconedge/iconedge/loadtest/load"
	"github.com/iconedge/iconedge/loadtest/mix"
)

// pickIcons takes n icons from the API of a server. It chooses among ten times as many, from as
// many packs as that needs. The same seed gives the same icons of the same library.
func pickIcons(ctx context.Context, t target, n int, seed uint64) ([]string, error) {
	var list struct{ Packs []struct{ Pack string } }
	if err := askJSON(ctx, t, "/api/v1/packs", &list); err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(seed, 2))
	random.Shuffle(len(list.Packs), func(i, j int) { list.Packs[i], list.Packs[j] = list.Packs[j], list.Packs[i] })
	var paths []string
	for _, p := range list.Packs {
		var pack struct{ Icons []struct{ Name string } }
		if err := askJSON(ctx, t, "/api/v1/packs/"+p.Pack+"?per_page=1000", &pack); err != nil {
			return nil, err
		}
		for _, icon := range pack.Icons {
			paths = append(paths, "/"+p.Pack+"/"+icon.Name+".svg")
		}
		if len(paths) >= 10*n {
			break
		}
	}
	if len(paths) < n {
		return nil, fmt.Errorf("%s does not have %d icons, only %d", t.name, n, len(paths))
	}
	random.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	return paths[:n], nil
}

// askJSON decodes a response of a server's API into v.
func askJSON(ctx context.Context, t target, path string, v any) error {
	m := mix.Maker{Host: t.host}
	request := func(int) []byte { return m.Get(path) }
	return load.Ask(ctx, t.addr, 1, request, func(_ int, a load.Answer) error {
		if a.Status != 200 {
			return fmt.Errorf("status %d from %s", a.Status, t.addr)
		}
		return json.Unmarshal(a.Body, v)
	})
}
