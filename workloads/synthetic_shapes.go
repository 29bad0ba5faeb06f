package workloads

import (
	"math"
	"slices"
)

// The shapes of synthetic graphs. Each has exactly as many tasks as asked for.
const (
	allToAll = "all-to-all"
	chains   = "chains"
	forkJoin = "fork-join"
	layered  = "layered"
	stencil  = "stencil"
	reduce   = "tree"
)

func shapes() []string { return []string{allToAll, chains, forkJoin, layered, stencil, reduce} }

// Widths chosen when none is given: graphs are about twice as wide as deep, so
// that few tasks can be executed side by side, too, up to a limit; where each
// task reads all of the level before, edges are what it costs.
const (
	widest         = 64
	widestAllToAll = 24
)

func usualWidth(shape string, tasks int) int {
	limit := widest
	if shape == allToAll {
		limit = widestAllToAll
	}
	return max(1, min(int(math.Ceil(math.Sqrt(2*float64(tasks)))), limit))
}

// outline makes the tasks of a shape, without times and sizes.
func outline(shape string, tasks, width, degree int, s source) []Node {
	width = min(width, tasks)
	switch shape {
	case forkJoin:
		return forksAndJoins(tasks, width)
	case layered:
		return randomLayers(tasks, width, degree, s)
	case reduce:
		return reduction(tasks, degree)
	}
	nodes := make([]Node, tasks)
	for i := range nodes {
		level, place := i/width*width, i%width
		n := &nodes[i]
		switch {
		case shape == chains:
			n.Name = "step"
			if level > 0 {
				n.Inputs = []int{i - width}
			}
		case shape == stencil:
			n.Name = "cell"
			for j := max(0, place-1); level > 0 && j <= min(place+1, width-1); j++ {
				n.Inputs = append(n.Inputs, level-width+j)
			}
		default: // all-to-all
			n.Name = "exchange"
			for j := 0; level > 0 && j < width; j++ {
				n.Inputs = append(n.Inputs, level-width+j)
			}
		}
	}
	return nodes
}

// forksAndJoins alternates one task with many that need it, which the next
// one needs.
func forksAndJoins(tasks, width int) []Node {
	nodes := []Node{{Name: "fork"}}
	for len(nodes) < tasks {
		fork := len(nodes) - 1
		left := tasks - len(nodes)
		join := Node{Name: "join"}
		for range min(width, left-1) {
			join.Inputs = append(join.Inputs, len(nodes))
			nodes = append(nodes, Node{Name: "part", Inputs: []int{fork}})
		}
		if join.Inputs == nil { // a single task is left
			join.Inputs = []int{fork}
		}
		nodes = append(nodes, join)
	}
	return nodes
}

// reduction is a tree: tasks read the results of up to degree others, until
// one is left. It is a heap from its last element to its first.
func reduction(tasks, degree int) []Node {
	nodes := make([]Node, tasks)
	for i := range nodes {
		place := tasks - 1 - i // in the heap; the root has place 0
		nodes[i].Name = "leaf"
		for child := min(degree*place+degree, tasks-1); child > degree*place; child-- {
			nodes[i].Name = "reduce"
			nodes[i].Inputs = append(nodes[i].Inputs, tasks-1-child)
		}
	}
	return nodes
}

// reach is how many layers back the inputs of a task of a random graph may be.
const reach = 3

// randomLayers makes layers of one to twice width tasks. Each task has an input
// from the layer before, and on average degree inputs in all, from the last few
// layers.
func randomLayers(tasks, width, degree int, s source) []Node {
	nodes := make([]Node, 0, tasks)
	starts := []int{0} // of layers
	for len(nodes) < tasks {
		end := min(tasks, len(nodes)+1+s.below(2*width-1))
		layer := len(starts) - 1
		for len(nodes) < end {
			n := Node{Name: "task"}
			if layer > 0 {
				before, first := starts[layer-1], starts[max(0, layer-reach)]
				n.Inputs = append(n.Inputs, before+s.below(starts[layer]-before))
				for range s.below(2*degree - 1) { // degree-1 on average
					if j := first + s.below(starts[layer]-first); !slices.Contains(n.Inputs, j) {
						n.Inputs = append(n.Inputs, j)
					}
				}
				slices.Sort(n.Inputs)
			}
			nodes = append(nodes, n)
		}
		starts = append(starts, len(nodes))
	}
	return nodes
}

// edgesOf is at least the number of edges of a shape.
func edgesOf(shape string, tasks, width, degree int) int {
	switch shape {
	case allToAll:
		return tasks * min(width, tasks)
	case stencil:
		return 3 * tasks
	case layered:
		return tasks * (2*degree - 1)
	}
	return 2 * tasks
}
