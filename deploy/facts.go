package deploy

import (
	"bytes"
	"context"
	_ "embed" // for factsScript
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/esched/esched/internal/hint"
)

//go:embed node_facts.py
var factsScript string

// factsBound bounds looking at a node. Python comes from a cold network file
// system in the worst case.
const factsBound = time.Minute

// Facts is what an environment's Python says of the node it runs on.
type Facts struct {
	Python     string              `json:"python"`     // version
	Packages   map[string]string   `json:"packages"`   // versions of dask and distributed, "" when missing
	Interfaces map[string][]string `json:"interfaces"` // addresses of those that are up, by name
}

// Examine starts an environment's Python on a host and has it look around. An
// error says that this Python cannot be used there.
func Examine(ctx context.Context, h Host, python string) (Facts, error) {
	ctx, release := context.WithTimeoutCause(ctx, factsBound, fmt.Errorf("no answer within %v", factsBound))
	defer release()
	var f Facts
	out, err := h.Run(ctx, Command{Name: "facts", Argv: []string{python, "-c", factsScript}})
	if err != nil {
		return f, fmt.Errorf("interpreter %s: %w", python, err)
	}
	// Whatever start-up files of the environment print comes before.
	out = bytes.TrimSpace(out)
	if err := json.Unmarshal(out[bytes.LastIndexByte(out, '\n')+1:], &f); err != nil {
		return f, fmt.Errorf("interpreter %s: its answer %q: %w", python, tailOf(out, 200), err)
	}
	for _, name := range slices.Sorted(maps.Keys(f.Packages)) {
		if f.Packages[name] == "" {
			err := fmt.Errorf("interpreter %s: no package %s", python, name)
			return f, hint.With(err, "install Dask there: "+python+" -m pip install dask distributed")
		}
	}
	return f, nil
}

// Address finds the address of the node in a network: the name of an
// interface, or a prefix like "10.149.0.0/16". It returns the interface, too.
func (f Facts) Address(network string) (address, name string, err error) {
	prefix, err := netip.ParsePrefix(network)
	fits := func(n string, a netip.Addr) bool { return n == network && !a.IsLinkLocalUnicast() }
	if err == nil {
		fits = func(_ string, a netip.Addr) bool { return prefix.Contains(a) }
	}
	var found netip.Addr
	var have []string
	for _, n := range slices.Sorted(maps.Keys(f.Interfaces)) {
		for _, text := range f.Interfaces[n] {
			have = append(have, n+" "+text)
			a, err := netip.ParseAddr(text)
			if err != nil || !fits(n, a) {
				continue
			}
			if !found.IsValid() || a.Is4() && !found.Is4() {
				found, name = a, n
			}
		}
	}
	if !found.IsValid() {
		err := fmt.Errorf("no address in network %s; there are %s", network, strings.Join(have, ", "))
		return "", "", hint.With(err, "set interface to one that all nodes have, or leave it out")
	}
	return found.String(), name, nil
}
