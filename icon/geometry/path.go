package geometry

// A Segment is one step of a path, with absolute coordinates: M and L have a point, C two control
// points and a point, Z nothing, and A the numbers of an arc, with 1 for a flag that is set.
type Segment struct {
	Kind byte
	Args [7]float64
}

// A point is a place in the plane.
type point struct{ x, y float64 }

// mirror returns p on the other side of a centre.
func (p point) mirror(centre point) point { return point{2*centre.x - p.x, 2*centre.y - p.y} }

// third returns the point at two thirds of the way from p to c, the control point of a quadratic
// curve as one of a cubic curve.
func (p point) third(c point) point { return point{p.x + (c.x-p.x)*2/3, p.y + (c.y-p.y)*2/3} }

// Path passes the segments of path data, of which it makes absolute ones of few kinds, until each
// returns false. As browsers do, it keeps everything before the first error.
func Path(data string, each func(Segment) bool) {
	r := pathReader{in: Numbers{data}, each: each}
	for r.step() && !r.ended {
	}
}

type pathReader struct {
	in                 Numbers
	each               func(Segment) bool
	command            byte  // the previous one
	at, start, control point // current point, start of the subpath, last control point
	open               bool  // a subpath is under way
	ended              bool  // each has returned false
}

// arguments is the number of numbers of each command.
var arguments = map[byte]int{'m': 2, 'l': 2, 'h': 1, 'v': 1, 'c': 6, 's': 4, 'q': 4, 't': 2, 'z': 0, 'a': 7}

// step reads one command with one set of arguments.
func (r *pathReader) step() bool {
	r.in.SkipSpace()
	if r.in.Rest == "" {
		return false
	}
	command := r.in.Rest[0]
	if 'a' <= command|0x20 && command|0x20 <= 'z' {
		r.in.Rest = r.in.Rest[1:]
	} else {
		switch command = r.command; command { // an omitted command repeats the last one
		case 'M':
			command = 'L'
		case 'm':
			command = 'l'
		case 0, 'Z', 'z':
			return false
		}
	}
	before := r.command | 0x20
	if r.command == 0 && command|0x20 != 'm' {
		return false
	}
	r.command = command
	base := point{}
	if command >= 'a' {
		base = r.at
	}
	var a [7]float64
	return r.read(command|0x20, &a) && r.perform(command|0x20, before, base, a)
}

// read reads the arguments of a command. It reports false for other letters.
func (r *pathReader) read(command byte, a *[7]float64) bool {
	count, known := arguments[command]
	for i := range count {
		ok := false
		if command == 'a' && (i == 3 || i == 4) {
			var set bool
			if set, ok = r.in.Flag(); set {
				a[i] = 1
			}
		} else {
			a[i], ok = r.in.Next()
		}
		if !ok {
			return false
		}
	}
	return known
}

// perform passes the segment of a command. before is the command before it, and base the point that
// coordinates are relative to.
func (r *pathReader) perform(command, before byte, base point, a [7]float64) bool {
	to := func(i int) point { return point{base.x + a[i], base.y + a[i+1]} }
	switch command {
	case 'm':
		r.move(to(0))
		return true
	case 'z':
		r.pass('Z')
		r.at, r.open = r.start, false
		return true
	}
	if !r.open { // the subpath begins where the last one was closed
		r.move(r.at)
	}
	mirrored := r.at
	switch {
	case command == 's' && (before == 'c' || before == 's'), command == 't' && (before == 'q' || before == 't'):
		mirrored = r.control.mirror(r.at)
	}
	switch command {
	case 'l':
		r.line(to(0))
	case 'h':
		r.line(point{base.x + a[0], r.at.y})
	case 'v':
		r.line(point{r.at.x, base.y + a[0]})
	case 'c':
		r.cubic(to(0), to(2), to(4))
	case 's':
		r.cubic(mirrored, to(0), to(2))
	case 'q':
		r.quadratic(to(0), to(2))
	case 't':
		r.quadratic(mirrored, to(0))
	case 'a':
		r.at = to(5)
		r.pass('A', a[0], a[1], a[2], a[3], a[4], r.at.x, r.at.y)
	}
	return true
}

func (r *pathReader) pass(kind byte, args ...float64) {
	s := Segment{Kind: kind}
	copy(s.Args[:], args)
	r.ended = !r.each(s)
}

func (r *pathReader) move(to point) {
	r.at, r.start, r.open = to, to, true
	r.pass('M', to.x, to.y)
}

func (r *pathReader) line(to point) {
	r.at = to
	r.pass('L', to.x, to.y)
}

func (r *pathReader) cubic(a, b, to point) {
	r.at, r.control = to, b
	r.pass('C', a.x, a.y, b.x, b.y, to.x, to.y)
}

func (r *pathReader) quadratic(c, to point) {
	r.cubic(r.at.third(c), to.third(c), to)
	r.control = c
}
