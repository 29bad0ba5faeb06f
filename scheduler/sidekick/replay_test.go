package sidekick

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/esched/esched/internal/need"
)

var (
	update = flag.Bool("update", false, "write testdata/record.golden anew from testdata/record.bin")
	record = flag.Bool("record", false, "write testdata/record.bin anew from a run of Dask")
)

// frames replays a record frame by frame.
func frames(record []byte, each func(id uint32, s *Session, frame, replies []byte) error) error {
	r := bufio.NewReader(bytes.NewReader(record))
	line, err := r.ReadBytes('\n')
	if err != nil {
		return err
	}
	var head logHeader
	if err := json.Unmarshal(line, &head); err != nil {
		return err
	}
	sessions := map[uint32]*Session{}
	for {
		var raw [4]byte
		if _, err := io.ReadFull(r, raw[:]); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		id := binary.LittleEndian.Uint32(raw[:])
		frame, err := readFrame(r, nil)
		if err != nil {
			return err
		}
		if sessions[id] == nil {
			if sessions[id], err = NewSession(head.Policy, head.Seed, head.Stock); err != nil {
				return err
			}
		}
		replies, err := sessions[id].Frame(frame)
		if err != nil {
			return err
		}
		if err := each(id, sessions[id], frame, replies); err != nil {
			return err
		}
	}
}

// tap forwards a socket to another and keeps what the service sent.
func tap(t *testing.T, from, to string) *safeBuffer {
	t.Helper()
	l, err := net.Listen("unix", from)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	var sent safeBuffer
	go func() {
		for {
			dask, err := l.Accept()
			if err != nil {
				return
			}
			service, err := net.Dial("unix", to)
			if err != nil {
				_ = dask.Close()
				continue
			}
			go func() {
				_, _ = io.Copy(service, dask)
				_ = service.Close()
			}()
			go func() {
				_, _ = io.Copy(io.MultiWriter(&sent, dask), service)
				_ = dask.Close()
			}()
		}
	}()
	return &sent
}

// TestReplay records a run and replays it twice: the same bytes as the
// service really sent.
func TestReplay(t *testing.T) {
	t.Parallel()
	python := need.Python(t)
	dir := shortDir(t)
	var recorded safeBuffer
	serve(t, Config{Socket: filepath.Join(dir, "t"), Policy: "random", Seed: 5, Record: &recorded})
	sent := tap(t, filepath.Join(dir, "s"), filepath.Join(dir, "t"))
	c := newCluster(t, python, clusterOptions{socket: filepath.Join(dir, "s")})
	d := drive(t, c)
	d.begin()
	d.graph(16, nil)

	bytesNow := recorded.Bytes()
	var first, second bytes.Buffer
	for _, out := range []*bytes.Buffer{&first, &second} {
		if err := Replay(bytes.NewReader(bytesNow), out); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two replays differ")
	}
	// The heartbeat's records go on, but they are answered by nothing.
	if have := sent.Bytes(); !bytes.Equal(first.Bytes(), have) || len(have) == 0 {
		t.Errorf("the replay's %d bytes are not the %d that were sent", first.Len(), len(have))
	}
	if *record {
		if err := os.WriteFile("testdata/record.bin", bytesNow, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGolden replays a recorded run, so that every change of the core's
// decisions shows in a diff. "go test -record -update" makes a new one.
func TestGolden(t *testing.T) {
	t.Parallel()
	recorded, err := os.ReadFile("testdata/record.bin")
	if err != nil {
		t.Fatal(err)
	}
	names := map[byte]string{replyHint: "hint", replyNext: "next", replySlots: "slots", replyAnswer: "answer", replyEnd: "end", replyAnew: "anew"}
	var have strings.Builder
	n := 0
	err = frames(recorded, func(_ uint32, _ *Session, _, replies []byte) error {
		n++
		for ; len(replies) >= 8; replies = replies[8:] {
			fmt.Fprintf(&have, "frame %d: %s worker %d id %d", n, names[replies[0]],
				binary.LittleEndian.Uint16(replies[2:]), binary.LittleEndian.Uint32(replies[4:]))
			if replies[1] != 0 {
				fmt.Fprintf(&have, " status %d", replies[1])
			}
			have.WriteByte('\n')
		}
		if len(replies) > 0 {
			return errors.New("replies are no whole records")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/record.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(have.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if have.String() != string(want) {
		t.Errorf("decisions changed; if they should, run go test -update. First difference: %s", difference(string(want), have.String()))
	}
}

func difference(want, have string) string {
	a, b := strings.Split(want, "\n"), strings.Split(have, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d: want %q, have %q", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("want %d lines, have %d", len(a), len(b))
}
