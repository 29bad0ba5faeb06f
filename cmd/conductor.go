package cmd

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/esched/esched/internal/hint"
)

// A run with --detach goes on in a conductor: esched itself, executed anew in
// a session of its own, that owns the run directory, writes its lines to a log
// there, and takes orders from a file there (see control). The command that
// started it returns as soon as the run directory is made, which is after the
// experiment was found to be right.

const (
	// conductorLog is the conductor's output, in the run directory.
	conductorLog = logsDir + "/conductor.log"
	// conductorFile says where the conductor is, as long as there is one.
	conductorFile = "conductor.json"
	// conductorLimit bounds the wait for the run directory: reading the
	// experiment, and the earlier records of a run that is resumed, from a slow
	// file system.
	conductorLimit = 2 * time.Minute
)

// conductor says which process conducts a run.
type conductor struct {
	Run     string    `json:"run"`
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Started time.Time `json:"started"`
}

// detach starts the conductor of a run and returns when it has begun.
func (o *runOptions) detach() error {
	names, release := o.Signals()
	defer release()
	args := slices.Clone(o.Args)
	at := slices.Index(args, "run") + 1 // no option before it takes a value
	b, err := o.startBackground(slices.Insert(args, at, "--conductor"))
	if err != nil {
		return err
	}
	told := make(chan conductor, 1)
	failed := make(chan error, 1)
	go func() {
		var c conductor
		text, err := b.read(conductorLimit)
		if err == nil {
			err = json.Unmarshal(text, &c)
		}
		if err != nil {
			failed <- err
			return
		}
		told <- c
	}()
	select {
	case c := <-told:
		if o.JSON {
			return printJSON(o.Stdout, c)
		}
		_, err := fmt.Fprintf(o.Stdout, "%s goes on in the background (process %d on %s)\nlog: %s\nWatch it with: esched watch %s\n",
			c.Run, c.PID, c.Host, filepath.Join(c.Run, conductorLog), c.Run)
		return err
	case name := <-names:
		b.kill()
		return hint.WithExit(fmt.Errorf("%s before the run began", name), hint.ExitInterrupted)
	case err := <-failed:
		return o.notBegun(b, err)
	}
}

// notBegun returns how a conductor ended that did not begin. It has printed
// the reason itself.
func (o *runOptions) notBegun(b *background, reason error) error {
	select {
	case err := <-b.ended:
		b.ended <- err
		if code := b.exit(); code != 0 {
			return exitQuietly(code, "the run did not begin")
		}
	case <-time.After(screenGrace):
		b.kill()
	}
	return hint.With(fmt.Errorf("background process: the run has not begun: %w", reason), "run without --detach to see more")
}

// conduct makes this process the conductor of the session's run.
func (s *session) conduct() error {
	c := conductor{Run: s.dir, PID: s.PID, Host: s.hostname(), Started: s.Now()}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if err := s.replaceFile(filepath.Join(s.dir, conductorFile), func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
		return fmt.Errorf("run %s: %w", s.dir, err)
	}
	if err := s.leaveTerminal(filepath.Join(s.dir, conductorLog), text); err != nil {
		return fmt.Errorf("conductor of %s: %w", s.dir, err)
	}
	return nil
}

// conductorOf returns who conducts a run; nil when nobody does, as far as is
// noted.
func (p Process) conductorOf(run string) *conductor {
	text, err := p.readFile(filepath.Join(run, conductorFile))
	if err != nil {
		return nil
	}
	c := &conductor{}
	if json.Unmarshal(text, c) != nil {
		return nil
	}
	return c
}

// withoutHangUp leaves out the signal of a terminal that is gone: a conductor
// has none.
func withoutHangUp(names <-chan string, done <-chan struct{}) <-chan string {
	others := make(chan string)
	go func() {
		for {
			select {
			case name := <-names:
				if name == "SIGHUP" {
					continue
				}
				select {
				case others <- name:
				case <-done:
					return
				}
			case <-done:
				return
			}
		}
	}()
	return others
}
