package sidekick

import (
	"encoding/binary"
	"testing"
)

const (
	benchWorkers = 64
	batch        = 64 // decisions in one frame
	held         = 40 // tasks in memory on each worker
)

// loaded is a session with 64 workers of 8 threads that hold results, and its
// first free task id.
func loaded(tb testing.TB, policy string) (*Session, uint32) {
	tb.Helper()
	s, err := NewSession(policy, 1, false)
	if err != nil {
		tb.Fatal(err)
	}
	frame := words(tagHello, uint32(Version), 1.1)
	for w := range uint16(benchWorkers) {
		frame = append(frame, words(tagWorker, w+1, uint16(8), uint64(16<<30))...)
	}
	next := uint32(1)
	for w := range uint16(benchWorkers) {
		for range held {
			frame = append(frame, graph(next, 0)...)
			frame = append(frame, words(tagReplicaAdded, next, w+1, uint64(1<<20))...)
			next++
		}
	}
	if _, err := s.Frame(frame); err != nil {
		tb.Fatal(err)
	}
	return s, next
}

// round writes one batch of tasks with two inputs each, and what Dask tells of
// the batch before: all placed, finished and forgotten.
func round(first uint32, chosen []uint16, asked bool) []byte {
	var b []byte
	for i, w := range chosen {
		id := first - batch + uint32(i)
		b = append(b, words(tagPlaced, id, w)...)
		b = append(b, words(tagFinished, id, w, uint64(1<<10), uint32(1000))...)
		b = append(b, words(tagReleased, id)...)
		b = append(b, words(tagForgotten, id)...)
	}
	flags := uint32(0)
	if asked {
		flags = 2 // only some workers may run it: never decided ahead
	}
	for i := range uint32(batch) {
		b = append(b, graph(first+i, flags, 1+(first+i*37)%(benchWorkers*held), 1+(first+i*101)%(benchWorkers*held))...)
		if asked {
			b = append(b, words(tagAsk, i, first+i, uint16(benchWorkers/2))...)
			for w := range uint16(benchWorkers / 2) {
				b = binary.LittleEndian.AppendUint16(b, 2*w+1)
			}
		}
	}
	return append(b, words(tagSync, uint32(1))...)
}

// placements reads which workers a batch was placed on.
func placements(tb testing.TB, replies []byte, first uint32) []uint16 {
	tb.Helper()
	chosen, found := make([]uint16, batch), 0
	for ; len(replies) >= 8; replies = replies[8:] {
		if replies[0] != replyHint && replies[0] != replyAnswer {
			continue
		}
		i := binary.LittleEndian.Uint32(replies[4:]) - first
		if w := binary.LittleEndian.Uint16(replies[2:]); w > 0 && i < batch && chosen[i] == 0 {
			chosen[i] = w
			found++
		}
	}
	if found != batch {
		tb.Fatalf("%d of %d tasks were placed", found, batch)
	}
	return chosen
}

// BenchmarkFrame measures what a decision costs the service with 64 workers,
// everything included that it is told of the task until it is forgotten.
func BenchmarkFrame(b *testing.B) {
	for _, policy := range []string{"earliest-start", "least-cpu-load", "random"} {
		for _, asked := range []bool{false, true} {
			b.Run(policy+map[bool]string{false: "/ahead", true: "/asked"}[asked], func(b *testing.B) {
				s, first := loaded(b, policy)
				var chosen []uint16
				decided := 0
				for b.Loop() {
					b.StopTimer()
					frame := round(first, chosen, asked)
					b.StartTimer()
					replies, err := s.Frame(frame)
					b.StopTimer()
					if err != nil {
						b.Fatal(err)
					}
					chosen = placements(b, replies, first)
					first += batch
					decided += batch
					b.StartTimer()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(decided), "ns/decision")
			})
		}
	}
}

// TestLoadedFrames holds what the benchmark relies on: every task of every
// batch is placed, and the core forgets what it is told to.
func TestLoadedFrames(t *testing.T) {
	t.Parallel()
	for _, asked := range []bool{false, true} {
		s, first := loaded(t, "earliest-start")
		before := s.core.State.Tasks()
		var chosen []uint16
		for range 50 {
			replies, err := s.Frame(round(first, chosen, asked))
			if err != nil {
				t.Fatal(err)
			}
			chosen = placements(t, replies, first)
			for _, w := range chosen {
				if asked && w%2 == 0 {
					t.Fatalf("worker %d was no candidate", w)
				}
			}
			first += batch
		}
		if have := s.core.State.Tasks(); have != before+batch {
			t.Errorf("asked %t: want %d tasks, have %d", asked, before+batch, have)
		}
	}
}
