package dashboard

import (
	"slices"
	"strings"

	"github.com/esched/esched/runners/record"
)

// rungs are the steps that a node climbs, from the ground up.
var rungs = [...]string{"requested", "granted", "ssh", "environment", "files", "process", "registered", "first-task"}

// contactRung is the rung of a node that answers. It has the name of what
// reaches nodes: one of launchers.
const contactRung = 2

var launchers = [...]string{rungs[contactRung], "srun", "prun"}

// ladder is how far each node of the reservation came, and why not further.
type ladder struct {
	nodes    []*climber
	launcher string // what reaches nodes, "" until the first one answers
}

type climber struct {
	name   string
	rung   int // the highest reached, -1: none
	failed bool
	reason string // of a failure or loss
}

// take notes a state of "host" or "host/process".
func (l *ladder) take(node, state, message string) {
	host, process, _ := strings.Cut(node, "/")
	at := slices.IndexFunc(l.nodes, func(c *climber) bool { return c.name == host })
	if at < 0 {
		l.nodes = append(l.nodes, &climber{name: host, rung: -1})
		at = len(l.nodes) - 1
	}
	c := l.nodes[at]
	rung := slices.Index(rungs[:], state)
	if slices.Contains(launchers[:], state) {
		rung, l.launcher = contactRung, state
	}
	switch {
	case state == "lost" && process != "":
		c.failed, c.reason = true, process+" lost"+reason(message)
	case state == "lost" || state == "failed":
		c.failed, c.reason = true, orElse(message, state)
	case rung >= 0 && process == "":
		c.rung, c.failed, c.reason = rung, false, ""
	case rung > c.rung: // a deployment that tells of its processes only
		c.rung = rung
	}
}

// words are the names of the rungs.
func (l *ladder) words() []string {
	words := slices.Clone(rungs[:])
	words[contactRung] = orElse(l.launcher, words[contactRung])
	return words
}

// nodesPage shows the ladder of every node, those in trouble first.
func (s *screen) nodesPage() []string {
	p := s.palette
	nodes := slices.Clone(s.ladder.nodes)
	slices.SortStableFunc(nodes, func(a, b *climber) int {
		switch {
		case a.failed != b.failed && a.failed:
			return -1
		case a.failed != b.failed:
			return 1
		}
		return a.rung - b.rung
	})
	name, words := 8, s.ladder.words()
	for _, c := range nodes {
		name = max(name, min(width(c.name), s.width/3))
	}
	var all []string
	for _, c := range nodes {
		full := strings.Repeat("●", c.rung+1)
		steps, note := p.paint(better, full), "–"
		if c.rung >= 0 {
			note = words[c.rung]
		}
		rest := len(rungs) - c.rung - 1
		if c.failed {
			steps += p.paint(worse, "✗")
			rest--
			note = p.paint(worse, "not ready") + ": " + clean(c.reason)
		}
		steps += p.paint(faint, strings.Repeat("○", max(0, rest)))
		all = append(all, " "+padRight(cut(c.name, name), name)+"  "+padRight(steps, len(rungs)+1)+" "+note)
	}
	if len(all) == 0 {
		all = []string{p.paint(faint, " no nodes so far")}
	}
	lines := []string{s.rule("nodes", s.claimWords(), s.width)}
	legend := wrapped("from left: "+strings.Join(words, ", "), s.width-2)
	room := max(1, s.height-2-len(legend))
	s.back = min(s.back, max(0, len(all)-room))
	lines = append(lines, all[s.back:min(len(all), s.back+room)]...)
	for len(lines) < s.height-1-len(legend) {
		lines = append(lines, "")
	}
	for _, l := range legend {
		lines = append(lines, p.paint(faint, " "+l))
	}
	return append(lines, p.paint(faint, " ↑↓ scroll · esc back"))
}

// claimWords says which reservation it is, in a few words.
func (s *screen) claimWords() string {
	c := s.claimed
	return joined(joinWords("reservation", c.id, c.state), clean(s.opts.Manifest.Cluster))
}

// NodeFacts says how far a node came.
type NodeFacts struct {
	Node string `json:"node"`
	// Rung is the last step that it reached, "" for none, Failed that it did not
	// reach the next or fell, for Reason.
	Rung   string `json:"rung"`
	Failed bool   `json:"failed,omitempty"`
	Reason string `json:"reason,omitempty"`
}

func (l *ladder) facts() []NodeFacts {
	all, words := []NodeFacts{}, l.words()
	for _, c := range l.nodes {
		f := NodeFacts{Node: c.name, Failed: c.failed, Reason: clean(c.reason)}
		if c.rung >= 0 {
			f.Rung = words[c.rung]
		}
		all = append(all, f)
	}
	return all
}

// takeNode passes an event of a node on.
func (m *Model) takeNode(e record.Event) {
	m.ladder.take(clean(e.Node), clean(e.State), e.Message)
}
