package record

import "time"

// EventKind names what happened; see the constants.
type EventKind string

// The kinds of events, in the order in which a run produces them.
const (
	EventRunStarted   EventKind = "run-started"   // Message: directory of the run; Total: trials
	EventRunResumed   EventKind = "run-resumed"   // Message: what was found; Done: trials already recorded
	EventEnvironment  EventKind = "environment"   // Message: progress of preparing Python
	EventReservation  EventKind = "reservation"   // State: waiting requested pending running released; Message: evidence; Start, Deadline, Reservation
	EventClaim        EventKind = "claim"         // State: granted extended ended; Message; Order: which, of at most Total; Deadline
	EventPostponed    EventKind = "postponed"     // Message: what does not fit the rest of the claim; Trial if it is one
	EventDeployment   EventKind = "deployment"    // State: starting ready stopping stopped failed; Message
	EventNode         EventKind = "node"          // Node; State: starting process registered lost; Message: reason
	EventTrialStarted EventKind = "trial-started" // Trial, Order
	EventTrialRetry   EventKind = "trial-retry"   // Trial; Message: reason of the failed attempt
	EventTrialEnded   EventKind = "trial-ended"   // Record
	EventProgress     EventKind = "progress"      // Progress; for views only, events.jsonl has none
	EventRepetition   EventKind = "repetition"    // State: added enough; Message: why; Total; Added: its trials
	EventWarning      EventKind = "warning"       // Message
	EventStopping     EventKind = "stopping"      // State: after-trial now at-once; Message: who asked, and what stops sooner
	EventReport       EventKind = "report"        // Message: path of the report
	EventRunEnded     EventKind = "run-ended"     // Message: summary; ExitCode; Error, Hint when an error ended it
)

// The states of EventStopping, each harder than the one before.
const (
	StopAfterTrial = "after-trial" // the trial that runs comes to its end
	StopNow        = "now"         // it is given up, and what was started is ended in order
	StopAtOnce     = "at-once"     // and without waiting
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
	Order    int       `json:"order,omitempty"`
	Total    int       `json:"total,omitempty"`
	Done     int       `json:"done,omitempty"`
	Record   *Record   `json:"record,omitempty"`
	Progress *Progress `json:"progress,omitempty"`
	ExitCode int       `json:"exit_code,omitempty"`
	// Error is why the run ended before its plan did, Hint what mends that.
	Error string `json:"error,omitempty"`
	Hint  string `json:"hint,omitempty"`
	// Added are the trials by which the plan grew.
	Added []Planned `json:"added,omitempty"`
	// Reservation is the queue's name for the nodes, Start when they are there
	// (an estimate as long as they are not), Deadline when they are taken back.
	Reservation string    `json:"reservation,omitempty"`
	Start       time.Time `json:"start,omitzero"`
	Deadline    time.Time `json:"deadline,omitzero"`
}
