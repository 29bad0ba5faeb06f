package scheduler

// rank sets the b-level of the tasks added since the last call: the longest
// path in seconds from a task's start to the end of its graph (the "bottom
// level" of list scheduling, T. L. Adam et al., CACM 17(12), 1974).
//
// Tasks arrive with their inputs named, in any order within a graph, so the
// walk goes up from the tasks without new dependents (Kahn's algorithm on the
// reversed graph). A task that got new dependents later keeps its old level:
// levels only order the queue.
func (s *State) rank() {
	if len(s.fresh) == 0 {
		return
	}
	left := make(map[*Task]int, len(s.fresh)) // dependents not ranked yet
	for _, t := range s.fresh {
		left[t] = 0
	}
	for _, t := range s.fresh {
		for _, d := range t.Deps {
			if _, new := left[d]; new {
				left[d]++
			}
		}
	}
	order := make([]*Task, 0, len(s.fresh))
	for _, t := range s.fresh {
		if left[t] == 0 {
			order = append(order, t)
		}
	}
	for i := 0; i < len(order); i++ {
		t := order[i]
		longest := 0.0
		for _, d := range t.Dependents {
			if !d.Gone {
				longest = max(longest, d.BLevel)
			}
		}
		t.BLevel = longest + t.Prefix.Expected()
		for _, d := range t.Deps {
			if n, new := left[d]; new {
				if left[d] = n - 1; n == 1 {
					order = append(order, d)
				}
			}
		}
	}
	s.fresh = s.fresh[:0]
}
