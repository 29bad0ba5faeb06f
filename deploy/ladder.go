package deploy

import (
	"errors"
	"fmt"
	"strings"
)

// Rung is a step of the ladder that every node climbs in a run. Whoever
// reserves tells of the first three, a Deployment of those up to registered,
// whoever submits work of the last.
type Rung string

// The rungs, from the ground up.
const (
	RungRequested   Rung = "requested"   // the queue was asked for it
	RungGranted     Rung = "granted"     // the reservation names it
	RungSSH         Rung = "ssh"         // it answers
	RungSrun        Rung = "srun"        // likewise, where srun starts processes
	RungPrun        Rung = "prun"        // likewise, where prun does
	RungEnvironment Rung = "environment" // Python and the chosen network are there
	RungFiles       Rung = "files"       // what the processes need is on it
	RungProcess     Rung = "process"     // all its processes run
	RungRegistered  Rung = "registered"  // all its workers are known to the scheduler
	RungFirstTask   Rung = "first-task"  // a worker of it has executed a task
)

// Rungs lists them, from the ground up, as nodes climb them that ssh reaches.
func Rungs() []Rung {
	return []Rung{
		RungRequested, RungGranted, RungSSH, RungEnvironment,
		RungFiles, RungProcess, RungRegistered, RungFirstTask,
	}
}

// States of a Step that are no rungs.
const (
	StateStarting = "starting" // a process is about to be started
	StateLost     = "lost"     // a process ended that should not have
	StateFailed   = "failed"   // a node did not reach the rung that Message begins with
)

// Step is a rung that a node or a process of a deployment reached, or the
// reason why it did not.
type Step struct {
	Node    string // host, or "host/worker-name"
	State   string // a Rung, StateStarting, StateLost or StateFailed
	Message string
}

// BadHost is the error of a host that did not reach a rung for a reason of its
// own: the same may work on others.
type BadHost struct {
	Host string
	Rung Rung // the one it did not reach
	Err  error
}

func (b *BadHost) Error() string {
	return fmt.Sprintf("host %s: %s: %v", b.Host, b.Rung, b.Err)
}

func (b *BadHost) Unwrap() error { return b.Err }

// Step is what the ladder shows of a bad host.
func (b *BadHost) Step() Step {
	reason, _, _ := strings.Cut(b.Err.Error(), "\n") // logs follow
	return Step{Node: b.Host, State: StateFailed, Message: string(b.Rung) + ": " + reason}
}

// BadHosts finds every BadHost in an error, joined errors included.
func BadHosts(err error) []*BadHost {
	var all []*BadHost
	switch e := err.(type) {
	case nil:
	case *BadHost:
		return []*BadHost{e}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			all = append(all, BadHosts(inner)...)
		}
	default:
		return BadHosts(errors.Unwrap(err))
	}
	return all
}

// reach tells that a host reached a rung.
func (d *Deployment) reach(h Host, r Rung, message string) {
	d.tell(Step{Node: h.Name(), State: string(r), Message: message})
}

func (d *Deployment) tell(s Step) {
	if d.spec.Observe != nil {
		d.spec.Observe(s)
	}
}

// climb has every host try to reach a rung at the same time. Hosts for which
// try fails are told of and are the BadHosts of the error.
func (d *Deployment) climb(hosts []Host, r Rung, try func(Host) error) error {
	return each(hosts, func(h Host) error {
		if err := try(h); err != nil {
			bad := &BadHost{h.Name(), r, err}
			d.tell(bad.Step())
			return bad
		}
		d.reach(h, r, "")
		return nil
	})
}
