package config

import (
	"net/url"
	"strings"
)

// Origins holds groups of origins, in order of preference.
type Origins [][]*url.URL

func (o *Origins) String() string {
	if o == nil {
		return ""
	}
	groups := make([]string, len(*o))
	for i, group := range *o {
		for _, u := range group {
			groups[i] += "," + u.String()
		}
		groups[i] = groups[i][1:]
	}
	return strings.Join(groups, " ")
}

// Set adds one group, as URLs separated by commas.
func (o *Origins) Set(s string) error {
	var group []*url.URL
	for raw := range strings.SplitSeq(s, ",") {
		u, err := ParseOrigin(raw)
		if err != nil {
			return err
		}
		group = append(group, u)
	}
	*o = append(*o, group)
	return nil
}

func (o *Origins) Repeatable() bool { return true }
