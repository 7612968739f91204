package spelling

import (
	"strings"
	"testing"

	"github.com/iconedge/iconedge/icon"
)

func TestMend(t *testing.T) {
	long := strings.Repeat("ab-", 50) + "c"
	for _, tt := range []struct{ in, want string }{
		{"home", "home"},
		{"arrow_back", "arrow-back"},
		{"Arrow Left", "arrow-left"},
		{"ArrowLeft", "arrow-left"},
		{"arrowLeft", "arrow-left"},
		{"EC2", "ec2"},
		{"EC2Instance", "ec2-instance"},
		{"AWSLambda", "aws-lambda"},
		{"HTMLFile", "html-file"},
		{"RESTAPIs", "restapis"}, // a plural is no word
		{"HOME", "home"},
		{"Mp3File", "mp3-file"},
		{"3DRotation", "3d-rotation"},
		{"add--alt", "add-alt"},
		{"-home-", "home"},
		{"Größe", "grosse"},
		{"Gro\u0308ße", "grosse"}, // o and a combining mark, as macOS stores names
		{"GRÖẞE", "grosse"},
		{"Łódź", "lodz"},
		{"crème brûlée", "creme-brulee"},
		{"Smørrebrød", "smorrebrod"},
		{"don't", "dont"},
		{"c++", "c-plus-plus"},
		{"salt & pepper", "salt-and-pepper"},
		{"home@2x", "home-2x"},
		{"Icon=Home, Size=24", "icon-home-size-24"},
		{"battery_0.5", "battery-0-5"},
		{"½", "1-2"},
		{"文", "u6587"},
		{"首页", "u9996-u9875"},
		{"icon-文-2", "icon-u6587-2"},
		{"👍🏽", "u1f44d-u1f3fd"},
		{"❤️", "u2764"}, // with a variation selector
		{"1F600", "1f600"},
		{"a\x1b[2Jb", "a-2-jb"},
		{"a\xffb", "a-b"},
		{"../../etc/passwd", "etc-passwd"},
		{"", ""},
		{"---", ""},
		{"!?", "u21-u3f"},
		{strings.Repeat("x", icon.MaxKey), strings.Repeat("x", icon.MaxKey)},
		{long, strings.Repeat("ab-", 39) + "ab-1f8aff31"},
		{strings.Repeat("x", maxSpelling+1), ""},
	} {
		if got := Mend(tt.in); got != tt.want {
			t.Errorf("Mend(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

// Two long names that differ only at their ends have different names.
func TestLongNamesDiffer(t *testing.T) {
	long := strings.Repeat("Long ", 40)
	if a, b := Mend(long+"a"), Mend(long+"b"); a == b || len(a) > icon.MaxKey {
		t.Errorf("%q and %q", a, b)
	}
}

// FuzzMend checks that every name is valid or empty, and that it stays as it is.
func FuzzMend(f *testing.F) {
	for _, s := range []string{"home", "Arrow Left", "EC2Instance", "Größe", "文", "a\xff", "👍🏽",
		strings.Repeat("Aa", 80), "İ", "ǅ", "ﬁ", "㎒"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		name := Mend(s)
		if name != "" && !icon.ValidKey(name) {
			t.Fatalf("Mend(%q) = %q, which is no valid name", s, name)
		}
		if again := Mend(name); again != name {
			t.Fatalf("Mend(%q) = %q, but Mend of that is %q", s, name, again)
		}
	})
}
