package publish

import "strings"

// titles has the full names of the licences of known icon packs, from the SPDX licence list 3.27.
// Sources abbreviate these names in different ways.
var titles = map[string]string{
	"0BSD":              "BSD Zero Clause License",
	"AGPL-3.0-only":     "GNU Affero General Public License v3.0 only",
	"AGPL-3.0-or-later": "GNU Affero General Public License v3.0 or later",
	"Apache-2.0":        "Apache License 2.0",
	"BSD-2-Clause":      `BSD 2-Clause "Simplified" License`,
	"BSD-3-Clause":      `BSD 3-Clause "New" or "Revised" License`,
	"CC-BY-3.0":         "Creative Commons Attribution 3.0 Unported",
	"CC-BY-4.0":         "Creative Commons Attribution 4.0 International",
	"CC-BY-NC-4.0":      "Creative Commons Attribution Non Commercial 4.0 International",
	"CC-BY-NC-SA-4.0":   "Creative Commons Attribution Non Commercial Share Alike 4.0 International",
	"CC-BY-ND-4.0":      "Creative Commons Attribution No Derivatives 4.0 International",
	"CC-BY-SA-3.0":      "Creative Commons Attribution Share Alike 3.0 Unported",
	"CC-BY-SA-4.0":      "Creative Commons Attribution Share Alike 4.0 International",
	"CC0-1.0":           "Creative Commons Zero v1.0 Universal",
	"GPL-2.0":           "GNU General Public License v2.0 only",
	"GPL-2.0-only":      "GNU General Public License v2.0 only",
	"GPL-2.0-or-later":  "GNU General Public License v2.0 or later",
	"GPL-3.0":           "GNU General Public License v3.0 only",
	"GPL-3.0-only":      "GNU General Public License v3.0 only",
	"GPL-3.0-or-later":  "GNU General Public License v3.0 or later",
	"ISC":               "ISC License",
	"LGPL-3.0-only":     "GNU Lesser General Public License v3.0 only",
	"LGPL-3.0-or-later": "GNU Lesser General Public License v3.0 or later",
	"MIT":               "MIT License",
	"MPL-2.0":           "Mozilla Public License 2.0",
	"OFL-1.1":           "SIL Open Font License 1.1",
	"Unlicense":         "The Unlicense",
}

// licenseTitle returns the full name of a known licence, or else the name that the source gives.
func licenseTitle(id, given string) string {
	switch title := titles[id]; {
	case title != "":
		return title
	case given != "":
		return given
	}
	return id
}

// licenseURL returns the URL that the source gives, or else the licence's page of the SPDX list.
func licenseURL(id, given string) string {
	switch {
	case given != "":
		return given
	case strings.ContainsAny(id, " ():") || strings.HasPrefix(id, "LicenseRef-"):
		// Expressions and licences that are not in the list have no page.
		return "https://spdx.org/licenses/"
	}
	return "https://spdx.org/licenses/" + id + ".html"
}
