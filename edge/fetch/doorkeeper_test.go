package fetch

import (
	"testing"
)

// The doorkeeper admits a form of an icon at its second request, and every other response at once.
func TestDoorkeeper(t *testing.T) {
	d := NewDoorkeeper().admits
	for _, row := range []struct {
		key  string
		want bool
	}{
		{"/mdi/home.svg", true}, {"/api/v1/icon/mdi/home", true}, {"/api/v1/search?q=a", true},
		{"/api/v1/packs?page=2", true}, {"/-/release?since=a", true}, {"/-/bag/sprite.svg?icons=mdi/home", true},
		{"/-/bag/icons.zip?icons=mdi/home", true},
		{"/-/row.svg?icons=a:b", false}, {"/-/row.svg?icons=a:b", true}, {"/-/row.png?icons=a:b", false},
		{"/mdi/home.svg?height=1", false}, {"/mdi/home.svg?height=2", false}, {"/mdi/home.svg?height=1", true},
		{"/mdi/home.svg?height=1", true}, {"/mdi/home.svg?height=2", true},
		{"/api/v1/icon/mdi/home?height=1", false}, {"/api/v1/icon/mdi/home?height=1", true},
	} {
		if got := d(row.key, false); got != row.want {
			t.Errorf("%s is admitted: %v, want %v", row.key, got, row.want)
		}
	}
	if first, second := d("/icon/mdi/none", true), d("/icon/mdi/none", true); first || !second {
		t.Errorf("an error page is admitted: %v, then %v; want false, then true", first, second)
	}
}
