package workloads

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Limits of graphs, so that the graph of a trial stays within the memory of a
// client and the line of a request.
const (
	maxNodes = 200_000
	maxEdges = 2_000_000
)

// Graph is a graph of tasks that do nothing but take time and return bytes. It
// is built here, so that it does not depend on any version of Python or Dask,
// and sent to the driver; what the tasks must return is therefore known.
type Graph struct {
	// Nodes are the tasks, each behind its inputs.
	Nodes []Node
	// Sleep tells that tasks wait instead of computing.
	Sleep bool
}

// Node is a task of a [Graph].
type Node struct {
	// Name is what tasks of the same kind have in common; Dask learns how long
	// they take. Letters, digits, "_" and "-".
	Name string
	// Inputs are indices of tasks before this one, whose results it reads.
	Inputs []int
	// Time is the CPU time it takes, or the time it sleeps, in whole microseconds.
	Time time.Duration
	// Bytes is the size of its result. Results that no task reads are a digest of
	// 16 bytes, whatever it says, as are smaller ones.
	Bytes int64
}

// digestBytes is the size of a task's digest: the least that it returns.
const digestBytes = 16

// Rename puts a prefix before the names of all tasks.
func (g *Graph) Rename(prefix string) {
	for i := range g.Nodes {
		g.Nodes[i].Name = prefix + g.Nodes[i].Name
	}
}

// Facts are what follows from a graph, whoever schedules it.
type Facts struct {
	Tasks, Edges int
	// Work is the time of all tasks together, Path that of the longest chain of
	// tasks that need one another: no number of workers can be faster.
	Work, Path time.Duration
	// Bytes is the size of all results together.
	Bytes int64
}

// Facts adds up the graph's tasks.
func (g *Graph) Facts() Facts {
	f := Facts{Tasks: len(g.Nodes)}
	ends := make([]time.Duration, len(g.Nodes))
	sizes := g.sizes()
	for i, n := range g.Nodes {
		for _, j := range n.Inputs {
			ends[i] = max(ends[i], ends[j])
		}
		ends[i] += n.Time
		f.Edges += len(n.Inputs)
		f.Work += n.Time
		f.Path = max(f.Path, ends[i])
		f.Bytes += sizes[i]
	}
	return f
}

// last tells which tasks no other one reads.
func (g *Graph) last() []bool {
	last := make([]bool, len(g.Nodes))
	for i := range last {
		last[i] = true
	}
	for _, n := range g.Nodes {
		for _, j := range n.Inputs {
			last[j] = false
		}
	}
	return last
}

// sizes returns how many bytes each task returns.
func (g *Graph) sizes() []int64 {
	sizes := make([]int64, len(g.Nodes))
	for i, last := range g.last() {
		sizes[i] = digestBytes
		if !last {
			sizes[i] = max(sizes[i], g.Nodes[i].Bytes)
		}
	}
	return sizes
}

// expected returns the digest of the results of the last tasks, and their
// number. A task's digest covers its index and, of each input, the length, the
// first and the last bytes: a task that reads a wrong, a truncated or no input
// changes all that follow. A result is its digest, repeated.
func (g *Graph) expected() (digest string, results int) {
	sizes := g.sizes()
	digests := make([][digestBytes]byte, len(g.Nodes))
	var text []byte
	for i, n := range g.Nodes {
		text = binary.BigEndian.AppendUint64(text[:0], uint64(i))
		for _, j := range n.Inputs {
			text = binary.BigEndian.AppendUint64(text, uint64(sizes[j]))
			text = append(text, digests[j][:]...)
			cut := sizes[j] % digestBytes
			text = append(text, digests[j][cut:]...)
			text = append(text, digests[j][:cut]...)
		}
		sum := sha256.Sum256(text)
		copy(digests[i][:], sum[:])
	}
	all := sha256.New()
	for i, last := range g.last() {
		if last {
			all.Write(digests[i][:])
			results++
		}
	}
	return hex.EncodeToString(all.Sum(nil)), results
}

// Verify says what is wrong with what a driver returned.
func (g *Graph) Verify(digest, result string) error {
	right, results := g.expected()
	if want := fmt.Sprintf("%d results of %d tasks", results, len(g.Nodes)); result != want {
		return fmt.Errorf("result %q, not %q", result, want)
	}
	if digest != right {
		return fmt.Errorf("digest %.12s, not %.12s: tasks read other inputs than the graph says", digest, right)
	}
	return nil
}

// graphColumns is a graph as drivers read it: esched_workloads/synthetic.py.
type graphColumns struct {
	// Label tells the tasks of different graphs apart.
	Label string   `json:"label"`
	Sleep bool     `json:"sleep"`
	Names []string `json:"names"`
	// Of each task: index of its name, its inputs, time in microseconds, bytes.
	Name   []int   `json:"name"`
	Inputs [][]int `json:"inputs"`
	Micros []int64 `json:"us"`
	Bytes  []int64 `json:"bytes"`
}

// MarshalJSON writes the graph column by column.
func (g *Graph) MarshalJSON() ([]byte, error) {
	c := graphColumns{Sleep: g.Sleep, Bytes: g.sizes()}
	index := map[string]int{}
	for _, n := range g.Nodes {
		i, known := index[n.Name]
		if !known {
			i = len(c.Names)
			index[n.Name] = i
			c.Names = append(c.Names, n.Name)
		}
		c.Name = append(c.Name, i)
		inputs := n.Inputs
		if inputs == nil {
			inputs = []int{}
		}
		c.Inputs = append(c.Inputs, inputs)
		c.Micros = append(c.Micros, n.Time.Microseconds())
	}
	unlabelled, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(unlabelled)
	c.Label = hex.EncodeToString(sum[:digestBytes])
	return json.Marshal(c)
}

// check says what is wrong with a graph: it holds for all that are built here,
// so that an error is a bug.
func (g *Graph) check() error {
	edges := 0
	for i, n := range g.Nodes {
		edges += len(n.Inputs)
		if n.Time < 0 || n.Time%time.Microsecond != 0 || n.Bytes < 0 || n.Name == "" {
			return fmt.Errorf("task %d: %q, %v, %d bytes", i, n.Name, n.Time, n.Bytes)
		}
		for k, j := range n.Inputs {
			if j < 0 || j >= i || slices.Contains(n.Inputs[:k], j) {
				return fmt.Errorf("task %d: input %d is no task before it, or twice", i, j)
			}
		}
	}
	if len(g.Nodes) == 0 || len(g.Nodes) > maxNodes || edges > maxEdges {
		return fmt.Errorf("%s tasks, %s inputs", grouped(int64(len(g.Nodes))), grouped(int64(edges)))
	}
	return nil
}
