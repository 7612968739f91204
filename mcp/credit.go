package mcp

import "github.com/iconedge/iconedge/icon"

// A credit is the licence and attribution that users must keep with the icons of one pack.
type credit struct {
	License       string `json:"license"`
	Attribution   string `json:"attribution"`
	CommercialUse bool   `json:"commercial_use"`
}

func creditOf(spdx, attribution string, commercial bool) credit {
	return credit{line(spdx), line(attribution), commercial && icon.License{SPDX: spdx}.CommercialUse()}
}

// String returns the credit as a phrase.
func (c credit) String() string {
	s := "license " + c.License + "; attribution: " + c.Attribution
	if !c.CommercialUse {
		s += "; non-commercial use only"
	}
	return s
}
