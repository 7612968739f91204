package rules

import (
	"net/netip"

	"github.com/oschwald/maxminddb-golang/v2"

	"github.com/iconedge/iconedge/config"
)

// Countries gives the country of an address, from a database in MaxMind's form.
type Countries struct{ db *maxminddb.Reader }

// maxCountries is the length of the longest database, in bytes.
const maxCountries = 1 << 30

// OpenCountries reads a database into memory.
func OpenCountries(file string) (*Countries, error) {
	// A mapped file that is overwritten, not replaced, would end the process.
	text, err := config.ReadFile(file, maxCountries)
	if err != nil {
		return nil, err
	}
	db, err := maxminddb.OpenBytes(text)
	if err != nil {
		return nil, err
	}
	return &Countries{db}, nil
}

// Of returns the ISO code of an address's country; empty: unknown.
func (c *Countries) Of(addr netip.Addr) string {
	if c == nil || !addr.IsValid() {
		return ""
	}
	var found struct {
		Country struct {
			Code string `maxminddb:"iso_code"`
		} `maxminddb:"country"`
	}
	if err := c.db.Lookup(addr.Unmap()).Decode(&found); err != nil {
		return ""
	}
	return found.Country.Code
}
