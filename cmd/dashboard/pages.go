package dashboard

import "fmt"

// eventsPage fills the screen with everything that happened: the problems in
// full, then all events. It follows the newest until the user scrolls back.
func (s *screen) eventsPage() []string {
	const indent = "             "
	var all []string
	add := func(head, sign string, r role, text string) {
		for i, part := range wrapped(text, s.width-len(indent)) {
			if i == 0 {
				all = append(all, s.palette.paint(faint, " "+head+"  ")+s.palette.paint(r, sign)+" "+part)
				continue
			}
			all = append(all, indent+part)
		}
	}
	for _, l := range s.log {
		add(s.hour(l.at), l.level.sign(), l.level.role(), l.words())
	}
	if len(all) == 0 {
		all = []string{s.palette.paint(faint, " no events yet")}
	}
	room := s.height - 3
	s.back = min(s.back, max(0, len(all)-room))
	end := len(all) - s.back
	start := max(0, end-room)
	note := fmt.Sprintf("%d–%d of %d", start+1, end, len(all))
	lines := []string{s.rule("events", note, s.width)}
	lines = append(lines, all[start:end]...)
	for len(lines) < s.height-2 {
		lines = append(lines, "")
	}
	logs := ""
	if s.run != "" {
		logs = " logs of all processes: " + s.run + "/logs"
	}
	return append(lines, s.palette.paint(faint, cut(logs, s.width)),
		s.palette.paint(faint, " ↑↓ pgup pgdown scroll · end newest · esc back"))
}

// helpPage explains the keys and the signs.
func (s *screen) helpPage() []string {
	p := s.palette
	lines := []string{s.rule("keys", "", s.width)}
	key := func(k, does string) {
		lines = append(lines, "  "+p.paint(strong, padRight(k, 16))+does)
	}
	if s.control.watching() {
		key("q  ctrl+c", "leave this view; the run goes on")
	} else {
		key("q", "stop after the trial that runs; the run can be resumed")
		key("Q  ctrl+c", "cancel now: end processes, give nodes back, keep all records")
		key("  again", "do not wait for that; esched clean gives back what is left")
	}
	key("/", "show only results that contain a text; esc shows all")
	if s.control.Orders != nil {
		key("s", "stop the run after the trial that runs (asks back)")
		key("c", "cancel the run now (asks back)")
	}
	if s.control.Orders != nil || s.control.Extend != nil {
		key("e", "ask the queue for more time (asks back)")
	}
	key("l", "all events, in full")
	key("L  ← →", "the logs of all processes, one at a time")
	key("n", "how far each node came, and why not further")
	key("↑↓ pgup pgdown", "scroll the results or the events")
	lines = append(lines, "", s.rule("signs", "", s.width))
	sign := func(r role, sign, means string) {
		lines = append(lines, "  "+p.paint(r, padRight(sign, 16))+means)
	}
	sign(better, "▼ 0.64", "faster than dask: the interval of the ratio is below 1")
	sign(worse, "▲ 1.20", "slower than dask: the interval of the ratio is above 1")
	sign(plain, "≈ 1.03", "no clear difference so far")
	sign(faint, " ──●── │", "the ratio and its interval; │ is parity, the edges 1/4 and 4")
	sign(plain, "[ ]  ( )", "95 % interval of the geometric mean; range of fewer than 3")
	sign(better, "● ✓", "worker registered; trial ok")
	sign(caution, "○ ◐ !", "starting; process runs, not registered yet; warning")
	sign(worse, "✗", "failed or lost")
	sign(plain, "3/4 busy", "workers that have tasks, of all; rates are of the last 3 s")
	sign(plain, "% blocked", "of these 3 s, how long Dask waited for esched's decisions")
	for len(lines) < s.height-1 {
		lines = append(lines, "")
	}
	lines = lines[:min(len(lines), s.height-1)]
	return append(lines, p.paint(faint, " esc back"))
}
