package lsp

import (
	"encoding/json"
	"slices"
	"strings"

	client "github.com/iconedge/iconedge/clients/go"
	"github.com/iconedge/iconedge/clients/go/output"
	"github.com/iconedge/iconedge/icon"
)

// settings are the choices of a user, from initializationOptions or
// workspace/didChangeConfiguration.
type settings struct {
	insertAs       string
	variant        client.Variant
	packs          []string
	commercialOnly bool
	credit         bool
}

func defaults() settings { return settings{insertAs: output.Auto, credit: true} }

// sent are the settings as an editor sends them. BaseURL and Token are not taken: an editor may
// read them from the files of a project.
type sent struct {
	InsertAs       *string         `json:"insertAs"`
	Color          *string         `json:"color"`
	Size           *int            `json:"size"`
	Packs          *[]string       `json:"packs"`
	CommercialOnly *bool           `json:"commercialOnly"`
	Credit         *bool           `json:"credit"`
	BaseURL        json.RawMessage `json:"baseUrl"`
	Token          json.RawMessage `json:"token"`
	Iconedge       json.RawMessage `json:"iconedge"`
}

// readSettings reads settings, possibly below "iconedge". Wrong ones are left out; complaints are
// sentences about them.
func readSettings(raw json.RawMessage) (s settings, complaints []string) {
	s = defaults()
	var from sent
	if len(raw) == 0 || string(raw) == "null" {
		return s, nil
	}
	if json.Unmarshal(raw, &from) == nil && len(from.Iconedge) > 0 {
		raw, from = from.Iconedge, sent{}
	}
	if err := json.Unmarshal(raw, &from); err != nil {
		complaints = append(complaints, "A setting has a wrong type; the settings are insertAs, color, packs "+
			"(strings), size (number), commercialOnly, credit (true or false).")
	}
	if len(from.BaseURL) > 0 || len(from.Token) > 0 {
		complaints = append(complaints, "The settings baseUrl and token are ignored, because a project could set "+
			"them; set ICONEDGE_API, ICONEDGE_CDN and ICONEDGE_LICENSE_TOKEN.")
	}
	if from.InsertAs != nil {
		if *from.InsertAs == output.Auto || slices.Contains(output.Forms, *from.InsertAs) {
			s.insertAs = *from.InsertAs
		} else {
			complaints = append(complaints, "insertAs must be auto or one of "+strings.Join(output.Forms, ", ")+".")
		}
	}
	if from.Color != nil && *from.Color != "" {
		color, err := icon.ParseColor(*from.Color)
		if err != nil {
			complaints = append(complaints, "color must be a hex color, such as #ff0000.")
		}
		s.variant.Color = color
	}
	if from.Size != nil && *from.Size != 0 {
		if *from.Size >= 1 && *from.Size <= icon.MaxSize {
			s.variant.Height = *from.Size
		} else {
			complaints = append(complaints, "size must be a whole number from 1 to 4096.")
		}
	}
	if from.Packs != nil {
		s.packs = slices.DeleteFunc(*from.Packs, func(key string) bool { return !icon.ValidKey(key) })
	}
	if from.CommercialOnly != nil {
		s.commercialOnly = *from.CommercialOnly
	}
	if from.Credit != nil {
		s.credit = *from.Credit
	}
	return s, complaints
}
