package deploy

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// errNotReady is the cause of contexts that end because Spec.Ready is over.
var errNotReady = errors.New("not ready in time")

// begin starts all processes, which live as long as life, and waits for them
// as long as ready.
//
// Starting Python is what a deployment's start costs, about 1.5 s of CPU time
// a process. So the scheduler and all workers start at once, and the workers
// wait for the file in which the scheduler writes its address.
func (d *Deployment) begin(life, ready context.Context) error {
	if err := d.prepare(ready); err != nil {
		return err
	}
	ready, giveUp := context.WithCancelCause(ready)
	defer giveUp(nil)
	join := d.beside(life, giveUp)
	return join(d.raise(life, ready))
}

// beside starts what the spec wants beside the processes, and gives these up
// when that fails. The result waits for it, or gives it up when they failed.
func (d *Deployment) beside(life context.Context, failed context.CancelCauseFunc) (join func(error) error) {
	if d.spec.Beside == nil {
		return func(err error) error { return err }
	}
	ctx, giveUp := context.WithCancelCause(life)
	done := make(chan error, 1)
	go func() {
		err := d.spec.Beside(ctx, d)
		if err != nil {
			failed(err)
		}
		done <- err
	}()
	return func(err error) error {
		if err == nil {
			return <-done
		}
		select {
		case first := <-done:
			if first != nil {
				err = first // which is why the processes were given up
			}
		default:
			giveUp(err)
			<-done
		}
		giveUp(err)
		return err
	}
}

// raise starts all processes and waits for them.
func (d *Deployment) raise(life, ready context.Context) error {
	var head, workers error
	var wait sync.WaitGroup
	wait.Go(func() { head = d.startHead(life, ready) })
	wait.Go(func() { workers = d.startWorkers(life) })
	wait.Wait()
	if err := errors.Join(head, workers); err != nil {
		return err
	}
	file, err := d.schedulerFile(ready)
	if err != nil {
		return err
	}
	d.addr = file.Address
	return d.awaitWorkers(ready)
}

// startHead starts the scheduler, and the service before it.
func (d *Deployment) startHead(life, ready context.Context) error {
	if len(d.spec.Service) > 0 {
		if err := d.startService(life, ready); err != nil {
			return err
		}
	}
	first := d.hosts[0]
	if err := d.starts(life, first, RoleScheduler, RoleScheduler, d.schedulerCommand()); err != nil {
		return err
	}
	if d.spec.Apart {
		d.reach(first, RungProcess, "")
	}
	return nil
}

func (d *Deployment) startService(life, ready context.Context) error {
	c, err := d.serviceCommand(ready)
	if err != nil {
		return err
	}
	out, err := newReadyWriter(c.Log)
	if err != nil {
		return err
	}
	c.Stdout = out
	if err := d.starts(life, d.hosts[0], RoleService, RoleService, c); err != nil {
		out.Close()
		return err
	}
	m := d.Service()
	go func() {
		<-m.Done()
		out.Close()
	}()
	select {
	case <-out.ready:
		d.observe(m, string(RungRegistered), "")
		return nil
	case <-m.Done():
		return d.early(m)
	case <-ready.Done():
		return fmt.Errorf("%s on %s: no line that begins with %q: %w%s", m.Name, m.Host, readyLine, context.Cause(ready), quoteLog(m.Log))
	}
}

func (d *Deployment) startWorkers(life context.Context) error {
	return d.climb(d.workerHosts(), RungProcess, func(h Host) error {
		names := d.spec.workerProcesses(h.Name())
		errs := make([]error, len(names))
		var wait sync.WaitGroup
		for i, name := range names {
			wait.Go(func() { _, errs[i] = d.start(life, h, RoleWorker, name, d.workerCommand(h, name)) })
		}
		wait.Wait()
		return errors.Join(errs...)
	})
}
