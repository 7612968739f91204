package extend

import (
	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/config/rules"
)

// noIndex keeps search engines from responses.
type noIndex struct{ edits *config.ResponseEdits }

func (a noIndex) Apply(d *rules.Decision, _ *rules.Request, _ []string) *rules.Answer {
	d.ResponseEdits = append(d.ResponseEdits[:len(d.ResponseEdits):len(d.ResponseEdits)], a.edits)
	return nil // the request goes on
}

func compileNoIndex(c *rules.Compiler, at string, on bool) rules.Action {
	if !on {
		c.Warn(at, "does nothing; must be true, or be left out")
	}
	return noIndex{&config.ResponseEdits{Edits: config.Edits{Set: map[string]string{"X-Robots-Tag": "noindex"}}}}
}

func init() {
	rules.AddAction(rules.Fixed(rules.ActionOf("noindex", "`true`: search engines do not list the response", compileNoIndex)))
}
