package workloads

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/esched/esched/internal/need"
	"github.com/esched/esched/scheduler/sidekick"
)

// TestTaxiUnderSchedulers sends queries through a driver, flat and nested, once
// under Dask's own scheduler and once with a real decision service: all finish,
// all find the same, and no question remains without an answer.
func TestTaxiUnderSchedulers(t *testing.T) {
	t.Parallel()
	const queries, files, limit = 24, 2, 8 * time.Minute
	python := need.Python(t)
	trips := obtainTrips(t, python, t.TempDir(), map[string]any{"rows": int64(3000), "files": int64(files)})
	socket, preload := startService(t)
	d, _ := startCluster(t, python, preload, "ESCHED_SOCKET="+socket).driver()
	w, _ := ByName("taxi-sql")
	digest := ""
	for _, form := range []string{"flat", "nested"} {
		for _, kind := range []string{"dask", "sidekick"} {
			params := defaults(w.Params)
			params["queries"], params["form"], params["rows"], params["partitions"] = int64(queries), form, int64(3000), int64(files)
			r := Request{Workload: w.Name, Kind: kind, Params: params, Data: trips}
			if kind == "sidekick" {
				r.Policy = "earliest-start"
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			have, err := d.Trial(ctx, r)
			cancel()
			if err != nil {
				t.Fatalf("%s under %s: %v", form, kind, err)
			}
			if err := w.Verify(params, have.Digest, have.Result); err != nil {
				t.Errorf("%s under %s: %v", form, kind, err)
			}
			if digest == "" {
				digest = have.Digest
			}
			if have.Digest != digest {
				t.Errorf("%s under %s: the digest %.12s, not %.12s as before", form, kind, have.Digest, digest)
			}
			s := have.Sidekick
			if kind == "dask" && s != nil || kind == "sidekick" && (s == nil || s.Decisions < queries || s.Fallbacks != 0) {
				t.Errorf("%s under %s: %d tasks, decisions %+v", form, kind, have.Tasks, s)
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := d.Close(ctx); err != nil {
		t.Error(err)
	}
}

// startService runs a decision service until the test ends, and returns its
// socket and the file of the preload that asks it.
func startService(t *testing.T) (socket, preload string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "es") // a path with room for a socket's name
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	own := sidekick.Preload("test")
	// A machine that is busy with tests is not a service that hangs.
	text := regexp.MustCompile(`(?m)^DEADLINE = [0-9.]+`).ReplaceAll(own, []byte("DEADLINE = 60.0"))
	if bytes.Equal(text, own) {
		t.Fatal("the preload has no line DEADLINE = ...")
	}
	preload = filepath.Join(dir, "esched_preload.py")
	if err := os.WriteFile(preload, text, 0o600); err != nil {
		t.Fatal(err)
	}
	socket = filepath.Join(dir, "s")
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- sidekick.Serve(ctx, sidekick.Config{Socket: socket, Policy: "random", Ready: func() { close(ready) },
			Warn: func(err error) { t.Logf("decision service: %v", err) }})
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	select {
	case <-ready:
	case err := <-done:
		done <- nil
		t.Fatal(err)
	}
	return socket, preload
}
