package cmd

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/esched/esched/runners"
	"github.com/esched/esched/runners/record"
)

func TestBrake(t *testing.T) {
	t.Parallel()
	ctx, b := newBrake(t.Context())
	defer b.release()
	var mu sync.Mutex
	var told []string
	b.tell = func(e record.Event) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, e.State+": "+e.Message)
	}
	b.harder = "an order"
	names := make(chan string)
	go b.listen(names)

	b.soon("q")
	b.soon("q")
	<-b.afterTrial
	if ctx.Err() != nil || len(told) != 1 {
		t.Fatalf("q: context %v, told %q", ctx.Err(), told)
	}
	names <- "SIGTERM"
	<-ctx.Done()
	if !errors.Is(context.Cause(ctx), runners.ErrInterrupted) || b.kill.Err() != nil {
		t.Fatalf("first: cause %v, kill %v", context.Cause(ctx), b.kill.Err())
	}
	names <- "Ctrl-C"
	<-b.kill.Done()
	mu.Lock()
	defer mu.Unlock()
	want := []string{
		"after-trial: q: stopping after the current trial; an order stops now",
		"now: SIGTERM: stopping now, the current trial is given up; an order again kills without waiting",
		"at-once: Ctrl-C again: killing at once",
	}
	if !slices.Equal(told, want) {
		t.Errorf("want %q, have %q", want, told)
	}
}
