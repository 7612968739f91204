package license

import (
	"regexp"
	"strings"
)

// An entry is a licence of the SPDX list 3.27.
type entry struct {
	title   string
	obliges Obligations
	source  string
}

// table has the licences of known icon packs. GPL, LGPL, AGPL, MPL and OFL count as copyleft: each
// requires that changed versions stay under it. The OFL exempts documents made with a font, as it
// does not require their source. Other versions and ports of Creative Commons licences follow from
// their names: see creativeCommons.
var table = map[string]entry{
	"0BSD":              {"BSD Zero Clause License", 0, osi + "0bsd"},
	"AGPL-3.0-only":     {"GNU Affero General Public License v3.0 only", Copyleft | Notice, gnu + "agpl-3.0.html#section5"},
	"AGPL-3.0-or-later": {"GNU Affero General Public License v3.0 or later", Copyleft | Notice, gnu + "agpl-3.0.html#section5"},
	"Apache-2.0":        {"Apache License 2.0", Notice, "https://www.apache.org/licenses/LICENSE-2.0#redistribution"},
	"BSD-2-Clause":      {`BSD 2-Clause "Simplified" License`, Notice, osi + "bsd-2-clause"},
	"BSD-3-Clause":      {`BSD 3-Clause "New" or "Revised" License`, Notice, osi + "bsd-3-clause"},
	"CC-BY-3.0":         {"Creative Commons Attribution 3.0 Unported", Attribution | Notice, cc + "by/3.0/legalcode"},
	"CC-BY-4.0":         {"Creative Commons Attribution 4.0 International", Attribution | Notice, cc + "by/4.0/legalcode#s3a"},
	"CC-BY-NC-4.0": {"Creative Commons Attribution Non Commercial 4.0 International",
		NonCommercial | Attribution | Notice, cc + "by-nc/4.0/legalcode#s2a"},
	"CC-BY-NC-SA-4.0": {"Creative Commons Attribution Non Commercial Share Alike 4.0 International",
		NonCommercial | ShareAlike | Attribution | Notice,
		cc + "by-nc-sa/4.0/legalcode#s3b"},
	"CC-BY-ND-4.0": {"Creative Commons Attribution No Derivatives 4.0 International",
		NoDerivatives | Attribution | Notice, cc + "by-nd/4.0/legalcode#s2a"},
	"CC-BY-SA-3.0": {"Creative Commons Attribution Share Alike 3.0 Unported", ShareAlike | Attribution | Notice,
		cc + "by-sa/3.0/legalcode"},
	"CC-BY-SA-4.0": {"Creative Commons Attribution Share Alike 4.0 International",
		ShareAlike | Attribution | Notice, cc + "by-sa/4.0/legalcode#s3b"},
	"CC0-1.0":           {"Creative Commons Zero v1.0 Universal", 0, "https://creativecommons.org/publicdomain/zero/1.0/legalcode"},
	"GPL-2.0":           {"GNU General Public License v2.0 only", Copyleft | Notice, gnu + "old-licenses/gpl-2.0.html#section2"},
	"GPL-2.0-only":      {"GNU General Public License v2.0 only", Copyleft | Notice, gnu + "old-licenses/gpl-2.0.html#section2"},
	"GPL-2.0-or-later":  {"GNU General Public License v2.0 or later", Copyleft | Notice, gnu + "old-licenses/gpl-2.0.html#section2"},
	"GPL-3.0":           {"GNU General Public License v3.0 only", Copyleft | Notice, gnu + "gpl-3.0.html#section5"},
	"GPL-3.0-only":      {"GNU General Public License v3.0 only", Copyleft | Notice, gnu + "gpl-3.0.html#section5"},
	"GPL-3.0-or-later":  {"GNU General Public License v3.0 or later", Copyleft | Notice, gnu + "gpl-3.0.html#section5"},
	"ISC":               {"ISC License", Notice, osi + "isc-license-txt"},
	"LGPL-3.0-only":     {"GNU Lesser General Public License v3.0 only", Copyleft | Notice, gnu + "lgpl-3.0.html"},
	"LGPL-3.0-or-later": {"GNU Lesser General Public License v3.0 or later", Copyleft | Notice, gnu + "lgpl-3.0.html"},
	"MIT":               {"MIT License", Notice, osi + "mit"},
	"MPL-2.0":           {"Mozilla Public License 2.0", Copyleft | Notice, "https://www.mozilla.org/MPL/2.0/#distribution-of-source-form"},
	"OFL-1.1":           {"SIL Open Font License 1.1", Copyleft | Notice, "https://openfontlicense.org/open-font-license-official-text/"},
	"Unlicense":         {"The Unlicense", 0, osi + "unlicense"},
}

const (
	osi = "https://opensource.org/license/"
	gnu = "https://www.gnu.org/licenses/"
	cc  = "https://creativecommons.org/licenses/"
)

// canonical maps identifiers in lower case to those of the table, because SPDX identifiers match in
// any case (SPDX 2.3, annex D.2).
var canonical = func() map[string]string {
	ids := make(map[string]string, len(table))
	for id := range table {
		ids[strings.ToLower(id)] = id
	}
	return ids
}()

// ccVersion matches the version of a Creative Commons licence and the jurisdiction of its port.
var ccVersion = regexp.MustCompile(`^-[1-4]\.[0-9](-[a-z]{2,3})?$`)

// creativeCommons reads the obligations of a licence from its name in lower case, such as
// cc-by-nc-2.5. They have the same meaning in every version and port. It is not known if the rest
// of the name is no version.
func creativeCommons(id string) (o Obligations, known bool) {
	rest, ok := strings.CutPrefix(id, "cc-by")
	if !ok || rest != "" && rest[0] != '-' {
		return 0, false
	}
	o = Attribution | Notice
	for _, part := range [...]struct {
		name string
		add  Obligations
	}{{"-nc", NonCommercial}, {"-nd", NoDerivatives}, {"-sa", ShareAlike}} {
		if after, ok := strings.CutPrefix(rest, part.name); ok && (after == "" || after[0] == '-') {
			o, rest = o|part.add, after
		}
	}
	return o, ccVersion.MatchString(rest)
}
