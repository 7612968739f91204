package collapse

import "time"

// ReadAll waits until the body has ended and, if it is to be stored, is stored. It then returns the
// whole body, or the error of the source. whole is false if the body did not end within atMost, has
// at least most bytes, or fills the window; the caller should then read it while it arrives.
// ReadAll must be called before the first Reader.
func (s *Spool) ReadAll(most int64, atMost time.Duration) (body []byte, whole bool, err error) {
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
	for !s.done && s.total() < min(most, s.window) {
		left := time.Until(deadline)
		if left <= 0 {
			return false
		}
		s.wait(left)
	}
	return s.done
}
