package publish

import (
	"cmp"

	"github.com/iconedge/iconedge/icon/license"
)

// licenseTitle returns the full name of a known licence, or else the name that the source gives.
// Sources abbreviate names in different ways.
func licenseTitle(id, given string) string { return cmp.Or(license.Title(id), given, id) }

// licenseURL returns the URL that the source gives, or else the licence's page of the SPDX list.
func licenseURL(id, given string) string { return cmp.Or(given, license.Page(id)) }
