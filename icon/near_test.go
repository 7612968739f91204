package icon

import "testing"

func FuzzDistance(f *testing.F) {
	f.Add("home", "hoem")
	f.Add("", "abc")
	f.Fuzz(func(t *testing.T, a, b string) {
		if d, back := distance(a, b), distance(b, a); d != back || (d == 0) != (a == b) && len(a) <= 64 && len(b) <= 64 {
			t.Fatalf("distance(%q, %q) = %d, and distance in the other order = %d", a, b, d, back)
		}
	})
}
