package icon

import "github.com/iconedge/iconedge/icon/license"

// A License is the licence of a pack. SPDX is its identifier in the SPDX list; URL is the page with
// its text.
type License struct {
	SPDX  string `json:"spdx"`
	Title string `json:"title"`
	URL   string `json:"url"`
}

// CommercialUse reports whether the licence allows commercial use. Of the licences that packs have,
// only the NC ones of Creative Commons do not.
func (l License) CommercialUse() bool {
	o, _ := license.Of(l.SPDX)
	return !o.Has(license.NonCommercial)
}

// A Category is a group of icons in a pack. Count excludes hidden icons.
type Category struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// A Pack describes a set of icons with one licence, as the API lists it. Count excludes hidden
// icons and aliases.
type Pack struct {
	Key           string     `json:"pack"`
	Name          string     `json:"name"`
	Count         int        `json:"count"`
	Categories    []Category `json:"categories"`
	License       string     `json:"license"` // SPDX identifier
	LicenseTitle  string     `json:"license_title"`
	LicenseURL    string     `json:"license_url"`
	Attribution   string     `json:"attribution"`
	CommercialUse bool       `json:"commercial_use"`
	Author        string     `json:"author"`
	AuthorURL     string     `json:"author_url"`
	Version       string     `json:"version"`
	Category      string     `json:"category"`
	Samples       []string   `json:"samples"`
	Monochrome    bool       `json:"monochrome"` // whether every icon is monochrome
	// Palette says whether some icons have colours of their own.
	Palette bool      `json:"palette,omitempty"`
	Height  []float64 `json:"height"` // the heights that its icons are designed for
}

// SetLicense sets all fields that follow from the pack's name, author and licence. The attribution
// is one line that credits all three, as Creative Commons recommends (title, author, licence).
func (p *Pack) SetLicense(l License) {
	p.License, p.LicenseTitle, p.LicenseURL, p.CommercialUse = l.SPDX, l.Title, l.URL, l.CommercialUse()
	p.Attribution = p.Name
	if p.Author != "" {
		p.Attribution += " by " + p.Author
	}
	p.Attribution += ", " + l.SPDX
}

// LicenseOf returns the licence that SetLicense stored.
func (p *Pack) LicenseOf() License { return License{p.License, p.LicenseTitle, p.LicenseURL} }

// Obligations returns the obligations of the pack's licence. They are not known if the table of
// licences lacks it.
func (p *Pack) Obligations() (o license.Obligations, known bool) { return license.Of(p.License) }

// Credit returns the line by which a user of the pack's icons meets the obligation of attribution:
// the attribution, with the addresses of the author and the licence, as Creative Commons requires
// (CC BY 4.0, section 3(a)(1)).
func (p *Pack) Credit() string {
	credit := p.Name
	if p.Author != "" {
		credit += " by " + p.Author
	}
	if p.AuthorURL != "" {
		credit += " (" + p.AuthorURL + ")"
	}
	credit += ", " + p.License
	if p.LicenseURL != "" {
		credit += " (" + p.LicenseURL + ")"
	}
	return credit
}
