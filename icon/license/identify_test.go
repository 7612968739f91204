package license

import (
	"strings"
	"testing"
)

func TestValid(t *testing.T) {
	for s, want := range map[string]bool{
		"MIT": true, "GPL-2.0+": true, "LicenseRef-Own": true, "DocumentRef-a:LicenseRef-b": true,
		"(CC-BY-4.0 AND OFL-1.1 AND MIT)":   true, // Font Awesome
		"MIT OR (Apache-2.0 AND CC-BY-4.0)": true, "((MIT))": true, "GPL-2.0-only WITH Font-exception-2.0": true,
		"": false, " MIT": false, "()": false, "(MIT": false, "MIT)": false, "MIT AND": false, "AND MIT": false, "MIT MIT": false,
		"<b>": false, "MIT\nX-Field: 1": false, "see LICENSE": false, "MIT/X11": false, "A AND OR": false,
		strings.Repeat("(", 400) + "MIT" + strings.Repeat(")", 400): false,
	} {
		if got := Valid(s); got != want {
			t.Errorf("Valid(%.60q) = %v", s, got)
		}
	}
}

// The obligations of all licences of an AND hold, as Font Awesome's do.
func TestCombined(t *testing.T) {
	for _, tt := range []struct {
		spdx string
		want Obligations
	}{
		{"(CC-BY-4.0 AND OFL-1.1 AND MIT)", Attribution | Copyleft | Notice},
		{"(CC-BY-NC-4.0 AND MIT)", NonCommercial | Attribution | Notice},
		{"((CC-BY-NC-4.0 OR MIT) AND ISC)", Notice},
	} {
		if got, known := Of(tt.spdx); got != tt.want || !known {
			t.Errorf("Of(%q) = %s, %v; want %s", tt.spdx, got, known, tt.want)
		}
	}
}

func TestIdentify(t *testing.T) {
	for s, want := range map[string]string{
		"MIT": "MIT", "mit": "MIT", "MIT License": "MIT", "The MIT License": "MIT",
		"Apache 2.0": "Apache-2.0", "Apache License, Version 2.0": "Apache-2.0",
		"CC BY 4.0": "CC-BY-4.0", "CC-BY-SA 4.0": "CC-BY-SA-4.0", "CC0": "CC0-1.0", "SIL OFL 1.1": "OFL-1.1",
		"(CC-BY-4.0 AND OFL-1.1 AND MIT)": "(CC-BY-4.0 AND OFL-1.1 AND MIT)", "LicenseRef-Own": "LicenseRef-Own", "EUPL-1.2": "EUPL-1.2",
		"(CC-BY-SA and SIL)": "", "MIT WITH Classpath-exception-2.0": "MIT WITH Classpath-exception-2.0",
		"": "", "UNLICENSED": "", "Unlicense": "Unlicense", "SEE LICENSE IN LICENSE.md": "", "Commercial": "", "proprietary": "", "<b>": "",
	} {
		if got := Identify(s); got != want {
			t.Errorf("Identify(%q) = %q, want %q", s, got, want)
		}
	}
}

func TestDetect(t *testing.T) {
	for text, want := range map[string]string{
		"The MIT License (MIT)\n\nCopyright (c) 2020 Ada\n\nPermission is hereby granted, free of charge, to any person " +
			"obtaining a copy\n" +
			"of this software …\nin all copies or substantial portions of the Software.\n\nTHE SOFTWARE IS PROVIDED": "MIT",
		// Shopify's Polaris has a condition of its own between the words of MIT.
		"Permission is hereby granted, free of charge, to any person obtaining a copy … substantial portions of the Software.\n\n" +
			"The rights granted above may only be exercised to … THE SOFTWARE IS PROVIDED": "",
		"# ISC License\n\nPermission to use, copy, modify, and/or distribute this software for any purpose … \n" +
			"provided that\nthe above copyright notice … appear in all copies.\n\nTHE SOFTWARE IS PROVIDED": "ISC",
		"Permission to use, copy, modify, and/or distribute this software for any\n" +
			"purpose with or without fee is hereby granted.\n\nTHE SOFTWARE IS PROVIDED": "0BSD",
		"                                 Apache License\n                           Version 2.0, January 2004": "Apache-2.0",
		"Attribution 4.0 International\n=====":                                       "CC-BY-4.0",
		"Attribution-ShareAlike 4.0 International":                                   "CC-BY-SA-4.0",
		"Attribution-NonCommercial 4.0 International":                                "CC-BY-NC-4.0",
		"SIL OPEN FONT LICENSE Version 1.1 - 26 February 2007":                       "OFL-1.1",
		"Redistribution and use in source and binary forms, … Neither the name of":   "BSD-3-Clause",
		"GNU GENERAL PUBLIC LICENSE\n                       Version 3, 29 June 2007": "GPL-3.0-only",
		"Creative Commons Legal Code\n\nCC0 1.0 Universal":                           "CC0-1.0",
		"Mozilla Public License, version 2.0":                                        "MPL-2.0",
		"All rights reserved.":                                                       "",
		"":                                                                           "",
	} {
		if got := Detect(text); got != want {
			t.Errorf("Detect(%.40q) = %q, want %q", text, got, want)
		}
	}
}
