package ssh

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/internal/hint"
)

const (
	// probeLimit bounds looking at a node, which reads one file.
	probeLimit = time.Minute
	// copyLimit bounds sending the binary; it is some ten megabytes.
	copyLimit = 3 * time.Minute
	// noiseLimit is how much a node may print that was not asked for.
	noiseLimit = 64 << 10
)

// binary is what esched knows of its own executable.
type binary struct {
	path string
	sum  string // SHA-256, hexadecimal
	size int64
	arch elf.Machine
	// file is what a node that shares the file system sees of it, too: size, time
	// of the last change and number of the inode.
	file string
}

// machines are the names that uname gives to machines.
var machines = map[elf.Machine][]string{
	elf.EM_X86_64:  {"x86_64", "amd64"},
	elf.EM_AARCH64: {"aarch64", "arm64"},
	elf.EM_PPC64:   {"ppc64le", "ppc64"},
	elf.EM_S390:    {"s390x"},
	elf.EM_RISCV:   {"riscv64"},
}

func readBinary(path string) (binary, error) {
	f, err := os.Open(path)
	if err != nil {
		return binary{}, fmt.Errorf("binary for the nodes: %w", err)
	}
	defer f.Close()
	header, err := elf.NewFile(f)
	if err != nil {
		return binary{}, fmt.Errorf("binary for the nodes: %s: %w", path, err)
	}
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return binary{}, fmt.Errorf("binary for the nodes: %w", err)
	}
	b := binary{path: path, sum: hex.EncodeToString(h.Sum(nil)), size: n, arch: header.Machine}
	if info, err := f.Stat(); err == nil {
		if s, ok := info.Sys().(*syscall.Stat_t); ok {
			b.file = fmt.Sprintf("%d %d %d", info.Size(), info.ModTime().Unix(), s.Ino)
		}
	}
	return b, nil
}

// mark begins the output of a script, since start-up files may print something
// before.
const mark = "=esched-script="

// sums defines how a node computes a SHA-256; one that cannot prints nothing.
const sums = `sum() { { sha256sum "$1" || shasum -a 256 "$1" || openssl dgst -sha256 -r "$1"; } 2>/dev/null | cut -d " " -f 1; }; `

// probeScript tells which of the given files has the sum $1; the first of them
// is trusted without being read, which takes a tenth of a second, when it is the
// very file that $2 describes. Scripts have no line ends, quotes or exclamation
// marks: see quote.
const probeScript = sums + `echo; echo ` + mark + `; uname -s; uname -m; s=$1; i=$2; shift 2; ` +
	`if [ -x "$1" ] && [ "$(stat -L -c "%s %Y %i" "$1" 2>/dev/null)" = "$i" ]; then echo "$1"; exit 0; fi; ` +
	`for f in "$@"; do if [ -f "$f" ] && [ -x "$f" ] && [ "$(sum "$f")" = "$s" ]; then echo "$f"; exit 0; fi; done; echo`

// copyScript puts its input, of the sum $1 and the size $2, where $3 says below
// the directory $4, which must be the user's own.
const copyScript = sums + `echo; echo ` + mark + `; umask 077; mkdir -p "$(dirname "$4")" 2>/dev/null; mkdir -m 700 "$4" 2>/dev/null; ` +
	`set -- "$1" "$2" "$3" "$4" $(ls -ldn "$4"); ` +
	`case "$5-$7" in drwx------*-$(id -u)) ;; *) echo "$4: not a directory that only user $(id -u) can enter"; exit 1;; esac; ` +
	`d=$(dirname "$3"); mkdir -p "$d" || exit 1; t="$d/.new.$$"; trap "rm -f \"$t\"" EXIT; ` +
	`cat > "$t" || exit 1; chmod 700 "$t" || exit 1; n=$(wc -c < "$t"); ` +
	`if [ "$n" -ne "$2" ]; then echo "$t: $n bytes arrived instead of $2"; exit 1; fi; s=$(sum "$t"); ` +
	`if [ -n "$s" ] && [ "$s" = "$1" ] || [ -z "$s" ]; then mv -f "$t" "$3" && echo placed; else echo "$t: changed on its way"; exit 1; fi`

// stage returns the path of esched's binary on the node and sees to it that it
// is there: used where it is when the node shares the file system, found where
// an earlier run put it, or else sent.
func (h *Host) stage(ctx context.Context) (string, error) {
	h.staging.Lock()
	defer h.staging.Unlock()
	// A node that was lost may have come back without its local files.
	if h.guard != "" && h.connected() {
		return h.guard, nil
	}
	b, err := h.client.binary()
	if err != nil {
		return "", err
	}
	home := path.Join(h.client.config.Scratch, "esched-"+label(h.client.config.User))
	place := path.Join(home, deploy.BinaryDir, b.sum, "esched")
	out, err := h.script(ctx, probeLimit, probeScript, nil, b.sum, b.file, b.path, place)
	if err != nil {
		return "", fmt.Errorf("look at %s: %w", h.name, err)
	}
	noise, lines := out.noise, out.lines
	h.noise = noise
	if len(lines) < 2 {
		return "", fmt.Errorf("look at %s: answer %q", h.name, strings.Join(lines, "\n"))
	}
	if err := b.fits(h.name, lines[0], lines[1]); err != nil {
		return "", err
	}
	if len(lines) > 2 && lines[2] != "" {
		h.guard = lines[2]
		return h.guard, nil
	}
	if err := h.copy(ctx, b, place, home); err != nil {
		return "", err
	}
	h.guard = place
	return h.guard, nil
}

// fits tells whether a node can execute the binary.
func (b binary) fits(host, system, machine string) error {
	names, known := machines[b.arch]
	if system == "Linux" && (!known || slices.Contains(names, machine)) {
		return nil
	}
	err := fmt.Errorf("%s runs %s on %s, but %s is for Linux on %s", host, system, machine, b.path, strings.Join(names, "/"))
	return hint.With(err, "reserve nodes of the machine type that esched was built for")
}

func (h *Host) copy(ctx context.Context, b binary, place, home string) error {
	f, err := os.Open(b.path)
	if err != nil {
		return fmt.Errorf("binary for the nodes: %w", err)
	}
	defer f.Close()
	out, err := h.script(ctx, copyLimit, copyScript, f, b.sum, strconv.FormatInt(b.size, 10), place, home)
	said := strings.TrimSpace(strings.Join(out.lines, " "))
	if err == nil && said == "placed" {
		return nil
	}
	if err == nil {
		err = errors.New("no word of it")
	}
	if said != "" {
		err = fmt.Errorf("%w: %s", err, said)
	}
	err = fmt.Errorf("copy of esched on %s in %s: %w", h.name, home, err)
	return hint.With(err, "choose a scratch directory on the nodes that has room and that you may write to")
}

// answer is what a script printed, and what came before it.
type answer struct {
	noise string
	lines []string
}

// script runs a shell script on the node, without a guard.
func (h *Host) script(ctx context.Context, limit time.Duration, text string, input io.Reader, args ...string) (answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no end within %v", limit))
	defer cancel()
	s, err := h.start(ctx, commandLine(append([]string{"/bin/sh", "-c", text, "esched"}, args...)...), io.Discard)
	if err != nil {
		return answer{}, err
	}
	if input == nil {
		s.Close()
	} else {
		go func() {
			_, _ = io.Copy(s, input) // too little is noticed on the node
			s.Close()
		}()
	}
	type result struct {
		text []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := io.ReadAll(io.LimitReader(s.out, noiseLimit))
		done <- result{text, err}
	}()
	var r result
	select {
	case r = <-done:
	case <-ctx.Done():
		r.err = context.Cause(ctx)
		s.Close()
	}
	s.letGo()
	return h.read(s, r.text, r.err)
}

// read tells a script's answer from what the login shell printed before it.
func (h *Host) read(s *stream, text []byte, err error) (answer, error) {
	before, after, marked := bytes.Cut(text, []byte("\n"+mark+"\n"))
	a := answer{noise: strings.TrimSpace(string(before))}
	if marked {
		a.lines = strings.Split(strings.TrimRight(string(after), "\n"), "\n")
	}
	complaint := s.complaint.String()
	if said := strings.TrimSpace(a.noise + " " + complaint); !marked && said != "" {
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		err := fmt.Errorf("no command can be run: the login shell printed %q and ended (%w)", said, err)
		return a, hint.With(err, fmt.Sprintf("make this print nothing but ok: ssh %s echo ok", h.name))
	}
	switch {
	case err != nil && complaint != "":
		return a, fmt.Errorf("%w: %s", err, complaint)
	case err != nil:
		return a, err
	case !marked:
		return a, fmt.Errorf("no answer to a command: %w", io.ErrUnexpectedEOF)
	}
	return a, nil
}
