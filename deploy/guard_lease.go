package deploy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// errGuardLost is the end of a guard that did not tell how its command ended.
var errGuardLost = errors.New("its guard is gone")

// errNotAnnounced is the lack of any guard at the other end of a link.
var errNotAnnounced = errors.New("it ended before it announced itself")

// left is the time until the deadline of ctx or the end of the link, what comes
// first; 0 when there is neither. The guard gets a little more, so that its
// parent, if it can, is the one that ends the command.
func (l Link) left(ctx context.Context) time.Duration {
	end, bounded := ctx.Deadline()
	if l.Until != nil {
		if until := l.Until(); !until.IsZero() && (!bounded || until.Before(end)) {
			end, bounded = until, true
		}
	}
	if !bounded {
		return 0
	}
	// Never 0, and less and less, also when it is over: a sign of life must not
	// put off the end.
	return max(time.Until(end)+DefaultGrace, time.Millisecond)
}

// beat tells the other side, which has a lease, that this one lives, until done
// is closed. What else it tells with it is asked of payload; nil for nothing.
func beat(frames *frameWriter, lease time.Duration, done <-chan struct{}, payload func() []byte) {
	ticker := time.NewTicker(lease / beatShare)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			var text []byte
			if payload != nil {
				text = payload()
			}
			_ = frames.write(frameBeat, text)
		}
	}
}

// beatShare is how many beats fit into a lease: some may be late.
const beatShare = 6

// watch gives up a guard that has been silent for its lease.
func (p *Guarded) watch() {
	timer := time.NewTimer(p.link.Lease)
	defer timer.Stop()
	for {
		select {
		case <-p.done:
			return
		case <-p.heard:
			timer.Reset(p.link.Lease)
		case <-timer.C:
			p.mu.Lock()
			p.silent = true
			p.mu.Unlock()
			p.letGo()
			return
		}
	}
}

// whyLost says why the guard's output ended.
func (p *Guarded) whyLost(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.silent {
		return fmt.Errorf("nothing heard of it for %v", p.link.Lease)
	}
	return err
}

// skipTo reads past the first occurrence of mark, which must come soon: what
// precedes it is what login scripts of a node print.
func skipTo(r io.Reader, mark []byte) error {
	var seen []byte
	one := make([]byte, 1)
	for !bytes.HasSuffix(seen, mark) {
		if len(seen) > frameLimit {
			return fmt.Errorf("%d bytes of other output where it should have announced itself", len(seen))
		}
		if _, err := io.ReadFull(r, one); err != nil {
			return fmt.Errorf("%w, after %q (%w)", errNotAnnounced, tailOf(seen, 200), err)
		}
		seen = append(seen, one[0])
	}
	return nil
}

func tailOf(text []byte, n int) []byte {
	return bytes.TrimSpace(text[max(0, len(text)-n):])
}
