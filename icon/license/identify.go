package license

import (
	"regexp"
	"strings"
)

// Valid reports whether s has the form of an SPDX identifier or licence expression (SPDX 2.3, annex
// D), such as MIT or (CC-BY-4.0 AND OFL-1.1 AND MIT). It need not be in the table.
func Valid(s string) bool {
	const longest = 512 // bytes
	if len(s) > longest || strings.TrimSpace(s) != s {
		return false
	}
	e := parse(s)
	_, ok := e.either(0)
	return ok && len(e.words) == 0
}

// identifier matches an SPDX identifier, also of another document.
var identifier = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.:-]*\+?$`)

// loose maps texts that package.json files have in place of identifiers, in lower case without
// spaces and punctuation, to those.
var loose = map[string]string{
	"mitlicense": "MIT", "themitlicense": "MIT", "mitlicence": "MIT", "expat": "MIT", "isclicense": "ISC",
	"apache": "Apache-2.0", "apache2": "Apache-2.0", "apache20": "Apache-2.0", "apachelicense20": "Apache-2.0",
	"apachelicenseversion20": "Apache-2.0", "apachev2": "Apache-2.0",
	"ccby4": "CC-BY-4.0", "ccby40": "CC-BY-4.0", "ccby30": "CC-BY-3.0",
	"ccbysa4": "CC-BY-SA-4.0", "ccbysa40": "CC-BY-SA-4.0", "ccbysa30": "CC-BY-SA-3.0", "ccbync40": "CC-BY-NC-4.0",
	"ccbynd40": "CC-BY-ND-4.0", "cc0": "CC0-1.0", "cc010": "CC0-1.0", "cc0universal": "CC0-1.0", "cc010universal": "CC0-1.0",
	"ofl": "OFL-1.1", "ofl11": "OFL-1.1", "silofl11": "OFL-1.1", "silofl": "OFL-1.1", "siloflversion11": "OFL-1.1",
	"silopenfontlicense11": "OFL-1.1", "mpl": "MPL-2.0", "mpl2": "MPL-2.0", "mpl20": "MPL-2.0",
	"gpl3": "GPL-3.0-only", "gplv3": "GPL-3.0-only", "gpl2": "GPL-2.0-only", "gplv2": "GPL-2.0-only",
	"bsd3": "BSD-3-Clause", "bsd3clause": "BSD-3-Clause", "newbsd": "BSD-3-Clause", "bsd2": "BSD-2-Clause", "bsd2clause": "BSD-2-Clause",
	"theunlicense": "Unlicense", "publicdomain": "LicenseRef-Public-Domain", "pd": "LicenseRef-Public-Domain",
}

var punctuation = regexp.MustCompile(`[^a-z0-9]+`)

// Identify returns the SPDX identifier or expression that the author of a package means: "Apache
// 2.0" is Apache-2.0. It returns "" for an unknown one, such as UNLICENSED, which in package.json
// forbids every use, or the name of a file.
func Identify(s string) string {
	small := strings.ToLower(s)
	if id, ok := canonical[small]; ok {
		return id
	}
	if id, ok := loose[punctuation.ReplaceAllString(small, "")]; ok {
		return id
	}
	switch {
	case small == "unlicensed", small == "none", small == "proprietary", small == "custom", strings.HasPrefix(small, "see license"):
		return ""
	case !Valid(s):
		return ""
	}
	// A word that the table lacks may be a licence, or anything else, so it has to look like one.
	for _, word := range parse(s).words {
		_, known := Of(word)
		if isIdentifier(word) && !known && !strings.HasPrefix(word, "LicenseRef-") && !strings.ContainsAny(word, "0123456789") {
			return ""
		}
	}
	return s
}

// headLength is the length of the beginning of a text that has the title of its licence. Further
// on, a licence may name others.
const headLength = 1500

// texts has words of each licence's text, by which a file with it is recognised: of long licences
// the title, of short ones the words between which others add conditions of their own. The first
// entry counts of which the text has all words; so narrower licences come first.
var texts = []struct {
	id    string
	words []string
}{
	{"CC-BY-NC-SA-4.0", []string{"attribution-noncommercial-sharealike 4.0 international"}},
	{"CC-BY-NC-4.0", []string{"attribution-noncommercial 4.0 international"}},
	{"CC-BY-ND-4.0", []string{"attribution-noderivatives 4.0 international"}},
	{"CC-BY-SA-4.0", []string{"attribution-sharealike 4.0 international"}},
	{"CC-BY-SA-3.0", []string{"attribution-sharealike 3.0 unported"}},
	{"CC-BY-4.0", []string{"attribution 4.0 international"}},
	{"CC-BY-3.0", []string{"attribution 3.0 unported"}},
	{"CC0-1.0", []string{"cc0 1.0 universal"}},
	{"OFL-1.1", []string{"sil open font license version 1.1"}},
	{"Apache-2.0", []string{"apache license version 2.0"}},
	{"MPL-2.0", []string{"mozilla public license version 2.0"}},
	{"AGPL-3.0-only", []string{"gnu affero general public license version 3"}},
	{"LGPL-3.0-only", []string{"gnu lesser general public license version 3"}},
	{"GPL-3.0-only", []string{"gnu general public license version 3"}},
	{"GPL-2.0-only", []string{"gnu general public license version 2"}},
	{"Unlicense", []string{"this is free and unencumbered software released into the public domain"}},
	{"BSD-3-Clause", []string{"redistribution and use in source and binary forms", "neither the name"}},
	{"BSD-2-Clause", []string{"redistribution and use in source and binary forms"}},
	{"MIT", []string{"permission is hereby granted, free of charge, to any person obtaining a copy",
		"substantial portions of the software. the software is provided"}},
	{"ISC", []string{"permission to use, copy, modify, and/or distribute this software", "appear in all copies. the software is provided"}},
	{"ISC", []string{"permission to use, copy, modify, and distribute this software", "appear in all copies. the software is provided"}},
	{"0BSD", []string{"permission to use, copy, modify, and/or distribute this software", "is hereby granted. the software is provided"}},
}

var spaces = regexp.MustCompile(`[\s*_#]+`)

// Detect returns the SPDX identifier of the licence whose text a file has; "" if none is known.
func Detect(text string) string {
	text = strings.ToLower(spaces.ReplaceAllString(text, " "))
	text = strings.ReplaceAll(text, "license, version", "license version")
	head := text[:min(len(text), headLength)]
	for _, t := range texts {
		has := strings.Contains(head, t.words[0])
		for _, words := range t.words[1:] {
			has = has && strings.Contains(text, words)
		}
		if has {
			return t.id
		}
	}
	return ""
}
