package sidekick

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/esched/esched/scheduler"
)

// serviceVariable makes the test binary a service: "MODE SOCKET".
const serviceVariable = "ESCHED_TEST_SERVICE"

func TestMain(m *testing.M) {
	var mode, socket string
	if n, _ := fmt.Sscan(os.Getenv(serviceVariable), &mode, &socket); n == 2 {
		if err := service(mode, socket); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// scarceDescriptors is how many a "scarce" service may have.
const scarceDescriptors = 32

// service is an honest service, or one of those that nobody should have to
// rely on.
func service(mode, socket string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if mode == "honest" {
		return Serve(ctx, Config{Socket: socket, Policy: "earliest-start", Ready: func() { fmt.Println("ready") }})
	}
	if mode == "scarce" {
		limit := unix.Rlimit{Cur: scarceDescriptors, Max: scarceDescriptors}
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			return err
		}
		return Serve(ctx, Config{
			Socket: socket, Policy: "earliest-start", Ready: func() { fmt.Println("ready") },
			Warn: func(err error) { fmt.Println("warning:", err) },
		})
	}
	l, err := listen(socket)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			_ = deceive(mode, conn)
		}()
	}
}

// deceive is honest about the snapshot, so that it is trusted, and then
// behaves by its mode.
func deceive(mode string, conn net.Conn) error {
	session, err := NewSession("earliest-start", 1, false)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(1, 2))
	in := bufio.NewReader(conn)
	for n := 0; ; n++ {
		frame, err := readFrame(in, nil)
		if err != nil {
			return err
		}
		replies, err := session.Frame(frame)
		if err != nil {
			return err
		}
		switch {
		case mode == "closing":
			return nil
		case mode == "silent":
			continue
		case n < 2: // the snapshot and the policy that the test begins with
		case mode == "garbage":
			replies = make([]byte, 61)
			for i := range replies {
				replies[i] = byte(rng.Uint32())
			}
		case mode == "babbling":
			replies = babble(rng, session)
		default:
			replies = twist(mode, rng, session, replies)
		}
		if _, err := conn.Write(replies); err != nil {
			return err
		}
	}
}

// babble makes well-formed records about anything.
func babble(rng *rand.Rand, session *Session) []byte {
	var out replies
	for range 20 {
		out.add(uint8(1+rng.IntN(6)), uint8(rng.IntN(2)), anyWorker(rng), anyTask(rng, session))
	}
	return out.b
}

// twist changes honest replies: "mistaken" names other tasks and workers,
// "mute" answers only that it has read everything.
func twist(mode string, rng *rand.Rand, session *Session, honest []byte) []byte {
	var out replies
	for ; len(honest) >= 8; honest = honest[8:] {
		kind, worker, id := honest[0], binary.LittleEndian.Uint16(honest[2:]), binary.LittleEndian.Uint32(honest[4:])
		switch {
		case kind == replyEnd || kind == replySlots || kind == replyAnew:
			out.b = append(out.b, honest[:8]...)
		case mode == "mistaken":
			if rng.IntN(2) == 0 {
				worker = uint16(anyWorker(rng))
			}
			if rng.IntN(2) == 0 {
				id = anyTask(rng, session)
			}
			out.add(kind, 0, scheduler.WorkerID(worker), id)
		}
	}
	return out.b
}

func anyWorker(rng *rand.Rand) scheduler.WorkerID { return scheduler.WorkerID(rng.IntN(9)) }

func anyTask(rng *rand.Rand, session *Session) uint32 {
	return uint32(rng.IntN(session.core.State.Tasks() + 100))
}
