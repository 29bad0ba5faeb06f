package record

import "time"

// EventKind names what happened; see the constants.
type EventKind string

// The kinds of events, in the order in which a run produces them.
const (
	EventRunStarted   EventKind = "run-started"   // Message: directory of the run; Total: trials
	EventRunResumed   EventKind = "run-resumed"   // Message: what was found; Done: trials already recorded
	EventEnvironment  EventKind = "environment"   // Message: progress of preparing Python
	EventReservation  EventKind = "reservation"   // State: requested pending running released; Message: evidence
	EventDeployment   EventKind = "deployment"    // State: starting ready stopping stopped failed; Message
	EventNode         EventKind = "node"          // Node; State: starting process registered lost; Message: reason
	EventTrialStarted EventKind = "trial-started" // Trial, Order
	EventTrialRetry   EventKind = "trial-retry"   // Trial; Message: reason of the failed attempt
	EventTrialEnded   EventKind = "trial-ended"   // Record
	EventWarning      EventKind = "warning"       // Message
	EventStopping     EventKind = "stopping"      // Message: why, and what a second Ctrl-C does
	EventReport       EventKind = "report"        // Message: path of the report
	EventRunEnded     EventKind = "run-ended"     // Message: summary; ExitCode
)

// Event is one line of events.jsonl, and what the dashboard and the plain
// output show. Only the fields named at the kind's constant are set, and
// Time.
type Event struct {
	Time    time.Time `json:"time"`
	Kind    EventKind `json:"kind"`
	State   string    `json:"state,omitempty"`
	Message string    `json:"message,omitempty"`
	// Node is a host or "host/worker-name".
	Node  string `json:"node,omitempty"`
	Trial *Trial `json:"trial,omitempty"`
	// Order is the trial's place in the plan, Total the number of planned
	// trials, Done how many of them are recorded; warm-ups are not counted.
	Order    int     `json:"order,omitempty"`
	Total    int     `json:"total,omitempty"`
	Done     int     `json:"done,omitempty"`
	Record   *Record `json:"record,omitempty"`
	ExitCode int     `json:"exit_code,omitempty"`
}
