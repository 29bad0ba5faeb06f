package reserve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// lockFile is what processes that change several entries together lock.
const lockFile = ".lock"

// lockPause is the time between attempts to lock. A lock is held for a few
// file operations.
const lockPause = 20 * time.Millisecond

// Exclusively runs f while no other process of the user does the same with
// this ledger. It waits for its turn until ctx is done.
func (l *Ledger) Exclusively(ctx context.Context, f func() error) (err error) {
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(l.dir, lockFile), os.O_CREATE|os.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }() // and unlock
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f()
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return fmt.Errorf("ledger: lock: %w", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("ledger: lock %s: %w", file.Name(), context.Cause(ctx))
		case <-time.After(lockPause):
		}
	}
}

// HandOver puts one entry in the place of another with the same kind and id,
// and returns whether it did: not when that one is no longer as it was, because
// somebody else was faster.
func (l *Ledger) HandOver(ctx context.Context, from, to Entry) (done bool, err error) {
	err = l.Exclusively(ctx, func() error {
		entries, err := l.Entries()
		if err != nil {
			return err
		}
		same := func(e Entry) bool { return e.Kind == from.Kind && e.ID == from.ID && e.Run == from.Run }
		if !slices.ContainsFunc(entries, same) {
			return nil
		}
		err = l.Add(to)
		done = err == nil
		return err
	})
	return done, err
}
