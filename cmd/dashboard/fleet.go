package dashboard

import "strings"

// fleet is the nodes of the deployment and the workers on them.
type fleet struct {
	nodes []*node
}

// node is a host with the states of its processes. The process "" is the host
// itself.
type node struct {
	name      string
	processes []string
	state     map[string]string
}

// reset forgets all nodes: a new deployment reports every one again.
func (f *fleet) reset() { f.nodes = nil }

// set takes the state of "host" or "host/worker-name".
func (f *fleet) set(name, state string) {
	host, process, _ := strings.Cut(name, "/")
	for _, n := range f.nodes {
		if n.name == host {
			n.set(process, state)
			return
		}
	}
	n := &node{name: host, state: map[string]string{}}
	n.set(process, state)
	f.nodes = append(f.nodes, n)
}

func (n *node) set(process, state string) {
	if _, ok := n.state[process]; !ok {
		n.processes = append(n.processes, process)
	}
	n.state[process] = state
}

// workers counts the workers of a node and how many of them registered.
func (n *node) workers() (registered, all int) {
	for _, p := range n.processes {
		if !isWorker(p) {
			continue
		}
		all++
		if n.state[p] == "registered" || n.state[p] == "first-task" {
			registered++
		}
	}
	return registered, all
}

// isWorker tells workers from the other processes on a node.
func isWorker(process string) bool {
	return process != "" && !strings.Contains(process, "scheduler") && !strings.Contains(process, "service")
}

// worst is the state of the process of a node that is furthest from ready.
func (n *node) worst() string {
	rank := func(state string) int {
		switch state {
		case "lost", "failed":
			return 3
		case "starting":
			return 2
		case "process":
			return 1
		}
		return 0
	}
	worst := ""
	for i, p := range n.processes {
		// The host's own state says nothing once its workers have theirs.
		if p == "" && len(n.processes) > 1 && n.state[p] != "lost" && n.state[p] != "failed" {
			continue
		}
		if i == 0 || worst == "" || rank(n.state[p]) > rank(worst) {
			worst = n.state[p]
		}
	}
	return worst
}

// registered counts the workers of all nodes.
func (f *fleet) registered() (registered, all int) {
	for _, n := range f.nodes {
		r, a := n.workers()
		registered += r
		all += a
	}
	return registered, all
}
