package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/scheduler/policies"
	"github.com/esched/esched/scheduler/sidekick"
)

// What a user may say of the number of tasks that a worker holds.
const (
	slotsAdaptive = "adaptive"
	slotsStock    = "stock"
)

type serveOptions struct {
	*globals
	Socket string
	Policy string
	Seed   uint64
	Slots  string
	Record string
	JSON   bool
}

func newServe(g *globals) *cobra.Command {
	o := serveOptions{globals: g}
	c := &cobra.Command{
		Use:   "serve",
		Short: "run the decision service for a Dask of your own",
		Long: withExits(`
Listen on a Unix socket and decide placements for Dask schedulers that were
started with the preload ("esched preload"). Prints "ready socket PATH" when
connections are accepted, with --json {"ready": "socket", "path": PATH}.
SIGTERM and Ctrl-C end it in good order.`,
			hint.ExitOK, hint.ExitError, hint.ExitUsage),
		Example: "  esched serve --socket /tmp/esched.sock --policy earliest-start\n" +
			"  esched serve --socket /tmp/esched.sock --policy random --seed 7 --record frames.bin",
		Args: atMost(0),
		RunE: func(c *cobra.Command, _ []string) error { return runServe(c.Context(), o) },
	}
	f := c.Flags()
	f.StringVar(&o.Socket, "socket", "", "path of the Unix socket to listen on (required)")
	f.StringVar(&o.Policy, "policy", "earliest-start", "policy that decides (esched policies lists them)")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of policies that use chance")
	f.StringVar(&o.Slots, "slots", slotsAdaptive, "tasks on a worker: \"adaptive\" fits their number to their duration,\n"+
		"\"stock\" is Dask's own depth")
	f.StringVar(&o.Record, "record", "", "append what the schedulers say to this file, for replay")
	f.BoolVar(&o.JSON, "json", false, "print the ready line as JSON")
	return c
}

// readyDoor is a ready line with --json.
type readyDoor struct {
	Ready string `json:"ready"`
	Path  string `json:"path"`
}

// ready tells that connections are accepted. Who started the service learns it
// by connecting, too.
func (o serveOptions) ready() {
	if o.JSON {
		_ = json.NewEncoder(o.Stdout).Encode(readyDoor{"socket", o.Socket})
		return
	}
	fmt.Fprintf(o.Stdout, "ready socket %s\n", o.Socket)
}

func runServe(ctx context.Context, o serveOptions) error {
	if o.Socket == "" {
		return usageError("esched serve --socket /tmp/esched.sock", "no socket to listen on")
	}
	if err := checkPolicy(o.Policy); err != nil {
		return err
	}
	if o.Slots != slotsAdaptive && o.Slots != slotsStock {
		return usageError("--slots "+slotsAdaptive, "slots %q are neither %s nor %s", o.Slots, slotsAdaptive, slotsStock)
	}
	cfg := sidekick.Config{
		Socket: o.path(o.Socket), Policy: o.Policy, Seed: o.Seed, Stock: o.Slots == slotsStock,
		Ready: o.ready,
		Warn:  func(err error) { fmt.Fprintf(o.Stderr, "esched: %v\n", err) },
	}
	if o.Record != "" {
		f, err := o.appendFile(o.Record)
		if err != nil {
			return hint.With(fmt.Errorf("record: %w", err), "name a file that you can write to with --record")
		}
		defer f.Close() // whole frames are written without a buffer
		cfg.Record = f
	}
	ctx, stop := o.interruptible(ctx)
	defer stop()
	if err := sidekick.Serve(ctx, cfg); err != nil {
		return hint.With(fmt.Errorf("decision service: %w", err),
			"give --socket a short path that no other service uses, in a directory that you can write to")
	}
	return nil
}

// checkPolicy refuses a name that no built-in policy has.
func checkPolicy(name string) error {
	names := policies.Names()
	if slices.Contains(names, strings.ReplaceAll(name, "_", "-")) {
		return nil
	}
	mend := "esched policies"
	if near := nearest(name, names); near != "" {
		mend = "--policy " + near
	}
	return usageError(mend, "unknown policy %q", name)
}
