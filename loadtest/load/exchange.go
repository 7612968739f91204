//go:build linux

package load

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// sendDue sends the requests that are due on idle connections.
func (l *loop) sendDue(now int64) error {
	for l.idle.n > 0 && l.next < l.last {
		due, ok := l.pace.take(now)
		if !ok {
			return nil
		}
		if err := l.send(l.idle.pop(), due); err != nil {
			return err
		}
	}
	return nil
}

// send writes the next request of the plan on connection c. It writes in one call, because a socket
// whose last request was answered has room for another.
func (l *loop) send(c int, due int64) error {
	plan, conn := &l.cfg.Plan, &l.conns[c]
	conn.request = &plan.Requests[plan.Order[l.next%len(plan.Order)]]
	l.next++
	l.sent++
	conn.due = due
	conn.answer.begin(l.sent%sampled == 0, conn.request.isHead())
	out := conn.request.Head
	if conn.request.Count != nil {
		l.out = conn.request.append(l.out[:0])
		out = l.out
	}
	n, err := unix.Write(conn.fd, out)
	if err == nil && n < len(out) {
		return fmt.Errorf("sending a request of %d bytes: the socket accepted only %d", len(out), n)
	}
	if err != nil {
		return l.breaks(c)
	}
	return nil
}

// wait waits for input, but no longer than until the next request is due, and reads it.
func (l *loop) wait(now int64) error {
	timeout := l.pace.sleep(now, l.idle.n > 0)
	if l.cfg.Spin {
		timeout = 0
	}
	n, err := unix.EpollWait(l.poll, l.events, timeout)
	if err != nil && !errors.Is(err, unix.EINTR) {
		return fmt.Errorf("waiting for responses: %w", err)
	}
	for i := range max(n, 0) {
		if err := l.read(int(l.events[i].Fd)); err != nil {
			return err
		}
	}
	return nil
}

// read reads from connection c. When the response is complete, it counts it and sends the next
// request.
func (l *loop) read(c int) error {
	conn := &l.conns[c]
	n, err := unix.Read(conn.fd, l.in)
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return nil
	case err != nil, n == 0:
		return l.breaks(c)
	case conn.request == nil:
		l.mistake("bytes that no request asked for")
		return l.breaks(c)
	}
	rest, err := conn.answer.read(l.in[:n])
	if err != nil || len(rest) > 0 {
		if err == nil {
			err = io.ErrShortBuffer
		}
		l.mistake(conn.request.Line() + ": " + err.Error())
		return l.breaks(c)
	}
	if conn.answer.state != complete {
		return nil
	}
	return l.answered(c)
}

// answered counts the response on connection c, and uses the connection for the next request that
// is due.
func (l *loop) answered(c int) error {
	conn, now := &l.conns[c], l.now()
	if why := conn.request.Want.wrong(&conn.answer); why != "" {
		l.mistake(conn.request.Line() + ": " + why)
	}
	if l.pace.counts(conn.due, now) {
		l.counts.statuses[min(conn.answer.status, len(l.counts.statuses)-1)]++
		l.counts.bytes += conn.answer.length
		l.record(now - conn.due)
	}
	l.answers.Add(1)
	conn.request = nil
	if conn.answer.closing {
		if err := l.reconnect(c); err != nil {
			return err
		}
	} else {
		l.idle.push(c)
	}
	return l.sendDue(now)
}

func (l *loop) record(latency int64) {
	l.latency.RecordValue(min(max(latency, 1), longest)) // cannot fail within these bounds
}

// mistake counts a wrong response, and stores the description of the first ones.
func (l *loop) mistake(what string) {
	l.wrong.Add(1)
	if len(l.mistakes) < maxMistakes {
		l.mistakes = append(l.mistakes, what)
	}
}

// breaks closes connection c and opens it again. It does not repeat the request, which counts as
// broken.
func (l *loop) breaks(c int) error {
	if l.conns[c].request != nil {
		if l.broken.Add(1)-l.answers.Load() > maxBroken {
			return errors.New("the server closes its connections without a response")
		}
		l.conns[c].request = nil
	} else {
		l.idle.remove(c)
	}
	return l.reconnect(c)
}

func (l *loop) reconnect(c int) error {
	unix.Close(l.conns[c].fd) // this also removes it from the epoll set
	return l.connect(c)
}
