package convert

import "slices"

// A level is a block whose directives hold for the blocks inside of it: http, server or location.
type level struct {
	dir  *directive // nil: the file itself
	dirs []*directive
	up   *level
}

// all returns the directives of some names of the nearest level that has any of them: a level with
// one inherits none of the others.
func (l *level) all(names ...string) []*directive {
	for at := l; at != nil; at = at.up {
		if own := at.own(names...); len(own) > 0 {
			return own
		}
	}
	return nil
}

// own returns the directives of some names of the level itself.
func (l *level) own(names ...string) (found []*directive) {
	for _, d := range l.dirs {
		if slices.Contains(names, d.name) {
			found = append(found, d)
		}
	}
	return found
}

// one returns the directive of a name that holds; nil: none does.
func (l *level) one(name string) *directive {
	if all := l.all(name); len(all) > 0 {
		return all[len(all)-1]
	}
	return nil
}

// value returns the first argument of the directive of a name that holds.
func (l *level) value(name, otherwise string) string {
	if d := l.one(name); d != nil {
		return d.arg(0)
	}
	return otherwise
}
