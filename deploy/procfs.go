package deploy

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// tick is the unit of times in /proc/PID/stat: USER_HZ is 100 on every Linux
// architecture that Go supports.
const tick = 10 * time.Millisecond

// procStat is what esched reads of /proc/PID/stat.
type procStat struct {
	pid    int
	state  byte
	parent int
	group  int
	cpu    time.Duration // user and system
	start  uint64        // clock ticks after boot
}

func readStat(pid int) (procStat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return procStat{}, err
	}
	return parseStat(pid, text)
}

func parseStat(pid int, text []byte) (procStat, error) {
	// The program's name is in parentheses and may itself contain both
	// parentheses and blanks.
	end := bytes.LastIndexByte(text, ')')
	fields := strings.Fields(string(text[end+1:]))
	if end < 0 || len(fields) < 20 {
		return procStat{}, fmt.Errorf("/proc/%d/stat: %d fields after the name, 20 wanted", pid, len(fields))
	}
	number := func(i int) uint64 {
		n, _ := strconv.ParseUint(fields[i], 10, 64)
		return n
	}
	return procStat{
		pid:    pid,
		state:  fields[0][0],
		parent: int(number(1)),
		group:  int(number(2)),
		cpu:    time.Duration(number(11)+number(12)) * tick,
		start:  number(19),
	}, nil
}

// dead tells whether the process has ended and only waits for being reaped.
func (s procStat) dead() bool { return s.state == 'Z' || s.state == 'X' }

// processes lists all processes that can be read. A process that ends while
// the list is made is left out.
func processes() ([]procStat, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var all []procStat
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if s, err := readStat(pid); err == nil {
			all = append(all, s)
		}
	}
	return all, nil
}

// bootID identifies the current boot of the machine, so that a process id of
// an earlier one is never taken for a living process.
func bootID() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// hasMark tells whether a process was started with mark in its environment.
// Processes of other users cannot be read and have none.
func hasMark(pid int, mark string) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false
	}
	for entry := range bytes.SplitSeq(text, []byte{0}) {
		if string(entry) == mark {
			return true
		}
	}
	return false
}

// cpuTime returns the CPU time a process used, its ended threads included.
// The process's CPU clock has a resolution of nanoseconds, /proc one of 10 ms,
// which is too coarse for a scheduler's share in a short trial.
func cpuTime(pid int) (time.Duration, error) {
	const schedClock = 2 // CPUCLOCK_SCHED of a whole process
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|schedClock), &ts); err == nil {
		return time.Duration(ts.Nano()), nil
	}
	s, err := readStat(pid)
	return s.cpu, err
}

// killExactly sends a signal to the process that has this id and start time,
// and to no later one with the same id. It tells whether it was there.
func killExactly(pid int, start uint64, signal unix.Signal) (bool, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("process %d: %w", pid, err)
	}
	defer unix.Close(fd)
	// The descriptor holds on to the process it was opened for, so what is
	// verified now is what gets the signal.
	s, err := readStat(pid)
	if err != nil || s.start != start || s.dead() {
		return false, nil
	}
	err = unix.PidfdSendSignal(fd, signal, nil, 0)
	if errors.Is(err, unix.ESRCH) {
		return false, nil
	}
	return err == nil, err
}
