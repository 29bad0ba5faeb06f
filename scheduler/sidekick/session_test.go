package sidekick

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"
)

// words packs a record: each argument is a field of its own width.
func words(fields ...any) []byte {
	var b []byte
	for _, f := range fields {
		switch v := f.(type) {
		case string:
			b = append(b, v...)
		case int: // a tag
			b = append(b, byte(v))
		default:
			var err error
			if b, err = binary.Append(b, binary.LittleEndian, v); err != nil {
				panic(err)
			}
		}
	}
	return b
}

func join(records ...[]byte) []byte {
	var b []byte
	for _, r := range records {
		b = append(b, r...)
	}
	return b
}

var (
	hello  = words(tagHello, uint32(Version), 1.1)
	worker = words(tagWorker, uint16(1), uint16(1), uint64(0))
	ready  = words(replySlots, 0, uint16(1), uint32(2))
	anew   = words(replyAnew, 0, uint16(0), uint32(0))
)

func graph(id, flags uint32, deps ...uint32) []byte {
	b := words(tagGraph, uint32(1), id, 1<<8|flags, int32(0), float32(0), id, uint32(len(deps)))
	for _, d := range deps {
		b = binary.LittleEndian.AppendUint32(b, d)
	}
	return b
}

// TestFrames sends frames and reads replies.
func TestFrames(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name   string
		frames [][]byte
		want   []byte // of the last frame
		err    string
	}{
		{name: "hello alone", frames: [][]byte{hello}},
		{name: "an empty frame", frames: [][]byte{{}}},
		{name: "a worker", frames: [][]byte{join(hello, worker)}, want: ready},
		{
			name:   "sync ends after what it covers",
			frames: [][]byte{join(hello, worker, graph(1, 0), words(tagSync, uint32(7)))},
			want:   join(words(replyHint, 0, uint16(1), uint32(1)), ready, words(replyEnd, 0, uint16(0), uint32(7))),
		},
		{
			name:   "a queued task and its slot",
			frames: [][]byte{join(hello, worker), join(graph(1, 1), words(tagQueued, uint32(1)))},
			want:   words(replyNext, 0, uint16(1), uint32(1)),
		},
		{
			name:   "a question about one candidate",
			frames: [][]byte{join(hello, worker), join(graph(1, 2), words(tagAsk, uint32(3), uint32(1), uint16(1), uint16(1)))},
			want:   join(words(replyAnswer, 0, uint16(1), uint32(1)), words(replyEnd, 0, uint16(0), uint32(3))),
		},
		{
			name:   "a question whose candidates are all gone",
			frames: [][]byte{join(hello, worker), join(graph(1, 2), words(tagAsk, uint32(3), uint32(1), uint16(1), uint16(9)))},
			want:   join(words(replyAnswer, 0, uint16(0), uint32(1)), words(replyEnd, 0, uint16(0), uint32(3))),
		},
		{
			name:   "a policy",
			frames: [][]byte{join(hello, worker), words(tagPolicy, uint32(4), uint64(1), float32(0), 6, "random")},
			want:   join(anew, words(replyEnd, 0, uint16(0), uint32(4))),
		},
		{
			name: "a policy that comes in the middle of a graph",
			frames: [][]byte{
				join(hello, worker, graph(1, 0), graph(2, 1), words(tagQueued, uint32(2))),
				words(tagPolicy, uint32(4), uint64(1), float32(0), 6, "random"),
			},
			want: join(anew, words(replyHint, 0, uint16(1), uint32(1)), words(replyNext, 0, uint16(1), uint32(2)),
				words(replyEnd, 0, uint16(0), uint32(4))),
		},
		{
			name:   "a policy that is none",
			frames: [][]byte{join(hello, worker), words(tagPolicy, uint32(4), uint64(1), float32(0), 4, "best")},
			want:   words(replyEnd, 1, uint16(0), uint32(4)),
		},
		{
			name:   "a window that is no number",
			frames: [][]byte{join(hello, worker), words(tagPolicy, uint32(4), uint64(1), float32(math.NaN()), 6, "random")},
			want:   words(replyEnd, 1, uint16(0), uint32(4)),
		},
		{name: "no hello", frames: [][]byte{worker}, err: "hello"},
		{name: "another version", frames: [][]byte{words(tagHello, uint32(99), 1.1)}, err: "version 99"},
		{name: "an unknown tag", frames: [][]byte{join(hello, []byte{99})}, err: "tag 99"},
		{name: "a record that is cut off", frames: [][]byte{join(hello, worker[:5])}, err: "cut off"},
		{name: "a graph with fewer tasks than it says", frames: [][]byte{join(hello, words(tagGraph, uint32(1<<30)))}, err: "cut off"},
		{name: "a task with fewer inputs than it says", frames: [][]byte{join(hello, words(tagGraph, uint32(1), uint32(1), uint32(1), int32(0), float32(0), uint32(1), uint32(1<<31)))}, err: "cut off"},
		{name: "an id that nothing introduced", frames: [][]byte{join(hello, words(tagAsk, uint32(1), uint32(1<<20), uint16(0)))}, err: "beyond"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			s, err := NewSession("earliest-start", 1, false)
			if err != nil {
				t.Fatal(err)
			}
			var have []byte
			for _, f := range x.frames {
				if have, err = s.Frame(f); err != nil {
					break
				}
			}
			if x.err != "" {
				if err == nil || !strings.Contains(err.Error(), x.err) {
					t.Errorf("want an error about %q, have %v", x.err, err)
				}
				return
			}
			if err != nil || string(have) != string(x.want) {
				t.Errorf("want % x, have % x, %v", x.want, have, err)
			}
		})
	}
}

// TestSlots finishes a task of a millisecond while more of them wait: by its
// duration a worker of one thread holds ten, by Dask's depth two.
func TestSlots(t *testing.T) {
	t.Parallel()
	chosen := func(window float32) []byte {
		return words(tagPolicy, uint32(4), uint64(1), window, 14, "earliest-start")
	}
	for _, x := range []struct {
		name   string
		stock  bool
		policy []byte
		want   uint32
	}{
		{"adaptive", false, nil, 10},
		{"stock", true, nil, 2},
		{"adaptive, a client leaves it at that", false, chosen(ownWindow), 10},
		{"stock, a client leaves it at that", true, chosen(ownWindow), 2},
		{"adaptive, a client wants stock", false, chosen(0), 2},
		{"stock, a client wants adaptive", true, chosen(0.010), 10},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			s, err := NewSession("earliest-start", 1, x.stock)
			if err != nil {
				t.Fatal(err)
			}
			tasks := join(hello, worker, x.policy)
			for id := uint32(1); id <= 100; id++ {
				tasks = join(tasks, graph(id, 1), words(tagQueued, id))
			}
			var have uint32
			for _, frame := range [][]byte{
				tasks, words(tagPlaced, uint32(1), uint16(1)), words(tagFinished, uint32(1), uint16(1), uint64(8), uint32(1000)),
			} {
				replies, err := s.Frame(frame)
				if err != nil {
					t.Fatal(err)
				}
				for ; len(replies) > 0; replies = replies[8:] {
					if replies[0] == replySlots {
						have = binary.LittleEndian.Uint32(replies[4:])
					}
				}
			}
			if have != x.want {
				t.Errorf("want %d slots, have %d", x.want, have)
			}
		})
	}
}

// TestUnknownPolicy is refused before anything listens.
func TestUnknownPolicy(t *testing.T) {
	t.Parallel()
	if _, err := NewSession("best", 0, false); err == nil {
		t.Error("want an error")
	}
	if err := Serve(t.Context(), Config{Socket: "/nowhere/s", Policy: "best"}); err == nil || !strings.Contains(err.Error(), "best") {
		t.Errorf("want an error about the policy, have %v", err)
	}
}

// FuzzFrame feeds damaged frames: the session refuses or obeys, but neither
// panics nor takes more memory than a multiple of what it was sent.
func FuzzFrame(f *testing.F) {
	f.Add(join(hello, worker, graph(1, 1), words(tagQueued, uint32(1)), words(tagStarving, uint32(1))))
	f.Add(join(hello, worker, graph(2, 0, 1), words(tagPlaced, uint32(2), uint16(1)), words(tagSeceded, uint32(2))))
	f.Add(join(hello, worker, words(tagAsk, uint32(1), uint32(1), uint16(0)), words(tagGone, uint16(1))))
	recorded, err := os.ReadFile("testdata/record.bin")
	if err != nil {
		f.Fatal(err)
	}
	var all []byte
	err = frames(recorded, func(_ uint32, _ *Session, frame, _ []byte) error {
		all = append(all, frame...)
		f.Add(all[:len(all):len(all)])
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		s, err := NewSession("earliest-start", 1, false)
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for cut := len(frame) / 2; ; cut = len(frame) {
			if _, err := s.Frame(frame[:cut]); err != nil && !errors.Is(err, errShort) {
				break
			}
			if cut == len(frame) {
				break
			}
		}
		runtime.ReadMemStats(&after)
		// A prefix is one word that may claim 2^20 places of 8 bytes, grown by doubling.
		if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20+2000*uint64(len(frame)) {
			t.Errorf("%d bytes allocated for a frame of %d", used, len(frame))
		}
	})
}
