package cmd

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/runners/record"
)

// controlFile holds the orders to a run, a line of JSON each, appended by
// whoever gives them. It is a file and no socket because the home directory is
// what all head nodes of a cluster share: an order reaches the run from any of
// them, and nothing listens. Only its owner may read and write it.
const controlFile = "control.jsonl"

// controlPoll is the time between looks at the control file: soon enough for
// people, and nothing to a file server.
const controlPoll = time.Second

// order is what a run is asked to do.
type order struct {
	Time time.Time `json:"time"`
	Do   string    `json:"do"`
	By   string    `json:"by"`
}

// The orders.
const (
	orderStop   = "stop"   // after the trial that runs
	orderCancel = "cancel" // now; the second time without waiting
	orderExtend = "extend" // the claim, if the queue allows it
)

func orders() []string { return []string{orderStop, orderCancel, orderExtend} }

// give writes an order to a run that is going on.
func (p Process) give(run, do string) error {
	if !slices.Contains(orders(), do) {
		return usageError(fmt.Sprintf("choose one of: %v", orders()), "unknown order %q", do)
	}
	if used, err := record.InUse(p.path(run)); err != nil || !used {
		return usageError("esched status "+run, "run %s is not going on", run)
	}
	by := p.env("USER")
	if host := p.hostname(); host != "" {
		by += "@" + host
	}
	text, err := json.Marshal(order{p.Now(), do, by})
	if err == nil {
		err = p.appendLine(filepath.Join(run, controlFile), text)
	}
	if err != nil {
		return hint.With(fmt.Errorf("order to run %s: %w", run, err), "give it as the user who started the run")
	}
	return nil
}

// control follows the control file of a run.
type control struct {
	p      Process
	path   string
	offset int64
}

// newControl follows the orders that are given from now on.
func (p Process) newControl(run string) *control {
	c := &control{p: p, path: filepath.Join(run, controlFile)}
	if info, err := p.stat(c.path); err == nil {
		c.offset = info.Size()
	}
	return c
}

// next returns the orders that were given since the last call.
func (c *control) next() []order {
	const most = 1 << 16 // bytes
	text, err := c.p.readFrom(c.path, c.offset, most)
	if err != nil {
		return nil // a file server that is away; the next look may succeed
	}
	end := bytes.LastIndexByte(text, '\n') + 1
	c.offset += int64(end)
	var all []order
	for line := range bytes.Lines(text[:end]) {
		var o order
		if json.Unmarshal(line, &o) == nil {
			all = append(all, o)
		}
	}
	return all
}

// obey carries out orders until done.
func (s *session) obey(c *control, b *brake, done <-chan struct{}) {
	tick := time.NewTicker(controlPoll)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		for _, o := range c.next() {
			by := cmp.Or(o.By, "somebody") + " (esched watch)"
			switch o.Do {
			case orderStop:
				b.soon(by)
			case orderCancel:
				b.now(by)
			case orderExtend:
				go s.extend(b.kill, by)
			default:
				s.warn(fmt.Sprintf("%s: unknown order %q", by, o.Do))
			}
		}
	}
}
