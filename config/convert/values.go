package convert

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// duration reads a time of nginx, such as 30d, 1h 30m or 10, in seconds.
func duration(s string) (seconds int, ok bool) {
	units := map[byte]int{'s': 1, 'm': 60, 'h': 3600, 'd': 86400, 'w': 7 * 86400, 'M': 30 * 86400, 'y': 365 * 86400}
	number := -1
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case '0' <= c && c <= '9' && number < 1<<31:
			number = max(number, 0)*10 + int(c-'0')
		case c == 'm' && i+1 < len(s) && s[i+1] == 's' && number >= 0:
			seconds, number = seconds+(number+999)/1000, -1
			i++
		case units[c] > 0 && number >= 0:
			seconds, number = seconds+number*units[c], -1
		case c == ' ' && number < 0:
		default:
			return 0, false
		}
	}
	if number >= 0 {
		seconds += number
	}
	return seconds, s != "" && seconds < 1<<40
}

// timeOf returns a length of time as the file has it.
func timeOf(seconds int) string {
	switch {
	case seconds == 0:
		return "0"
	case seconds%86400 == 0:
		return strconv.Itoa(seconds/86400) + "d"
	case seconds%3600 == 0:
		return strconv.Itoa(seconds/3600) + "h"
	case seconds%60 == 0:
		return strconv.Itoa(seconds/60) + "m"
	}
	return strconv.Itoa(seconds) + "s"
}

// size returns a size of nginx as the file has it; 0: there is no limit.
func size(s string) (text string, ok bool) {
	number, unit := s, "KiB"
	switch {
	case s == "":
		return "", false
	case strings.ContainsRune("kK", rune(s[len(s)-1])):
		number = s[:len(s)-1]
	case strings.ContainsRune("mM", rune(s[len(s)-1])):
		number, unit = s[:len(s)-1], "MiB"
	case strings.ContainsRune("gG", rune(s[len(s)-1])):
		number, unit = s[:len(s)-1], "GiB"
	default:
		unit = "B"
	}
	n, err := strconv.ParseUint(number, 10, 40)
	if err != nil {
		return "", false
	}
	if n == 0 {
		return "0", true
	}
	return number + unit, true
}

// window returns a sliding window that lets as many requests pass in the long run as a leaky bucket
// with a rate such as 10r/s, and at once as many as fit into the bucket.
func window(rate string, burst int) (text string, ok bool) {
	number, unit, _ := strings.Cut(rate, "r/")
	n, err := strconv.Atoi(number)
	per := map[string]int{"s": 1, "m": 60}[unit]
	if err != nil || n < 1 || per == 0 || burst < 0 || burst > 1e6 {
		return "", false
	}
	// n requests in per seconds are burst+1 in so many, rounded up to whole seconds.
	seconds := max(1, ((burst+1)*per+n-1)/n)
	return fmt.Sprintf("%d/%ds", max(1, seconds*n/per), seconds), true
}

var variable = regexp.MustCompile(`\$(?:\{[A-Za-z0-9_]+\}|[A-Za-z0-9_]+)`)

// literal reports whether a text has no variables, and nothing that the file would expand.
func literal(s string) bool { return !variable.MatchString(s) && !strings.Contains(s, "${") }

// label returns a text as the name of a site or an origin.
func label(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '-'
	}, s)
	if s = strings.Trim(s, "-."); s == "" || s == "sticky" {
		s = "app"
	}
	return s[:min(len(s), 56)]
}

// numbered returns the nth name that begins with a name: a, a-2, a-3 and so on.
func numbered(name string, n int) string {
	if n == 1 {
		return name
	}
	return fmt.Sprintf("%s-%d", name, n)
}
