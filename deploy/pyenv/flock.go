package pyenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/esched/esched/internal/hint"
)

// dirLock is held by the one process that creates an environment. Its file
// beside the directory says who that is; the file stays when the lock is let
// go, so that all contenders lock the same one. The installer inherits the
// lock: if esched is killed, nobody clears the directory under an installer
// that still runs.
type dirLock struct {
	file  *os.File
	owner string
}

// lock waits until this process may create dir.
func (m *Manager) lock(ctx context.Context, name, dir string) (*dirLock, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, hint.With(err, "set XDG_CACHE_HOME to a directory that you can write to")
	}
	file, err := os.OpenFile(dir+".lock", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname() // only for the message
	l := &dirLock{file: file, owner: fmt.Sprintf("pid %d on %s", os.Getpid(), host)}
	limit := m.LockWait
	if limit == 0 {
		limit = defaultLockWait
	}
	bound := time.NewTimer(limit)
	defer bound.Stop()
	poll := time.NewTicker(lockPoll)
	defer poll.Stop()
	for waited := false; ; waited = true {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			l.describe(l.owner)
			return l, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			file.Close()
			return nil, hint.With(fmt.Errorf("lock %s: %w", file.Name(), err), "set XDG_CACHE_HOME to a file system with file locks")
		}
		if !waited {
			m.progress(name, "waiting for "+l.holder()+", which is creating it")
		}
		select {
		case <-ctx.Done():
			file.Close()
			return nil, ended(ctx)
		case <-bound.C:
			holder := l.holder()
			file.Close()
			return nil, hint.With(fmt.Errorf("still locked by %s after %v", holder, limit),
				"let that process finish or end it, then start again")
		case <-poll.C:
		}
	}
}

// describe writes who holds the lock, for those who wait.
func (l *dirLock) describe(who string) {
	if err := l.file.Truncate(0); err == nil {
		_, _ = l.file.WriteAt([]byte(who+"\n"), 0) // a message without a name is still true
	}
}

// holder reads who holds the lock.
func (l *dirLock) holder() string {
	b, err := os.ReadFile(l.file.Name())
	if who := strings.TrimSpace(string(b)); err == nil && who != "" {
		return who
	}
	return "another process"
}

// release lets the lock go, also where a stray child inherited it.
func (l *dirLock) release() {
	l.describe("")
	_ = syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN)
	l.file.Close()
}
