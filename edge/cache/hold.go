package cache

import "time"

// Hold waits until the body has ended and, if it is to be, is stored: then it is returned, whole, or the error of the source. It
// waits no longer than atMost, and not for more than most bytes: a body that takes more is to be read while it comes. It is
// to be called before the first Reader.
func (s *Spool) Hold(most int64, atMost time.Duration) (body []byte, whole bool, err error) {
	if !s.settles(most, time.Now().Add(atMost)) {
		return nil, false, nil
	}
	<-s.ended
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.base > 0 && s.err == nil {
		return nil, false, nil
	}
	return s.held, true, s.err
}

// settles reports whether the body ends before it has too many bytes, or takes too long.
func (s *Spool) settles(most int64, deadline time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.done && s.total() < most {
		left := time.Until(deadline)
		if left <= 0 {
			return false
		}
		s.wait(left)
	}
	return s.done
}
