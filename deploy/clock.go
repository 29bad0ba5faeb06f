package deploy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

const (
	// clockBound bounds asking a node for the time.
	clockBound = time.Minute
	// clockQuestions are how often: the fastest answer counts.
	clockQuestions = 5
)

// Skew is how far a node's clock is from ours.
type Skew struct {
	Ahead time.Duration // of ours; negative when it is behind
	Error time.Duration // at most that much more or less
}

// MeasureSkew compares the clock of a host with now. It asks over one
// connection, so that setting that up does not count.
func MeasureSkew(ctx context.Context, h Host, now func() time.Time) (Skew, error) {
	ctx, release := context.WithTimeoutCause(ctx, clockBound, fmt.Errorf("no answer within %v", clockBound))
	defer release()
	questions, ask := io.Pipe()
	answer, answers := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		_, err := h.Run(ctx, Command{
			Name: "clock", Argv: []string{"sh", "-c", "while read _; do date +%s.%N; done"}, Stdin: questions, Stdout: answers,
		})
		questions.CloseWithError(io.ErrClosedPipe)
		answers.CloseWithError(io.ErrUnexpectedEOF)
		ended <- err
	}()
	best, err := compare(bufio.NewReader(answer), ask, now)
	ask.Close()
	answer.Close()
	if end := <-ended; end != nil && err != nil {
		err = end
	}
	if err != nil {
		return Skew{}, fmt.Errorf("clock of %s: %w", h.Name(), err)
	}
	return best, nil
}

// compare asks and keeps the answer that came fastest.
func compare(answer *bufio.Reader, ask io.Writer, now func() time.Time) (Skew, error) {
	var best Skew
	for i := range clockQuestions {
		before := now()
		if _, err := io.WriteString(ask, "\n"); err != nil {
			return best, err
		}
		line, err := answer.ReadString('\n')
		if err != nil {
			return best, err
		}
		trip := now().Sub(before)
		theirs, unsure, err := parseClock(strings.TrimSpace(line))
		if err != nil {
			return best, err
		}
		if s := (Skew{theirs.Sub(before.Add(trip / 2)), trip/2 + unsure}); i == 0 || s.Error < best.Error {
			best = s
		}
	}
	return best, nil
}

// parseClock reads seconds and nanoseconds: "1795273200.012345678". A system
// whose date knows no nanoseconds prints a letter in their place, and is
// unsure.
func parseClock(text string) (at time.Time, unsure time.Duration, err error) {
	whole, part, _ := strings.Cut(text, ".")
	s, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return time.Time{}, 0, fmt.Errorf("time %q: not a number of seconds", text)
	}
	ns, err := strconv.ParseInt(part, 10, 64)
	if err != nil || len(part) != 9 {
		return time.Unix(s, int64(time.Second/2)), time.Second / 2, nil
	}
	return time.Unix(s, ns), 0, nil
}
