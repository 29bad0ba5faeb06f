package runners

import (
	"fmt"

	"github.com/esched/esched/runners/record"
)

// State is where a trial stands.
type State string

// The states of a trial. The last four are final and equal to the status of
// its record.
const (
	Planned   State = "planned"
	Deploying State = "deploying"
	Warming   State = "warming"
	Running   State = "running"
	OK        State = State(record.StatusOK)
	Failed    State = State(record.StatusFailed)
	Timeout   State = State(record.StatusTimeout)
	Skipped   State = State(record.StatusSkipped)
)

// input is what happens to a trial.
type input string

const (
	inputDeploy    input = "deploy"    // its block's deployment is being started
	inputDeployed  input = "deployed"  // the deployment is ready
	inputUnhealthy input = "unhealthy" // the deployment did not become ready, or broke before the trial
	inputHopeless  input = "hopeless"  // the same, and no further deployment will be tried
	inputStart     input = "start"     // its turn has come on a ready deployment
	inputResult    input = "result"    // it returned a result that agrees with its equals
	inputWrong     input = "wrong"     // it returned a result that does not
	inputRetry     input = "retry"     // the attempt failed on a sound deployment, attempts are left
	inputRenew     input = "renew"     // the attempt failed and spoilt the deployment, attempts are left
	inputFail      input = "fail"      // the last attempt failed
	inputLate      input = "late"      // the last attempt exceeded its time limit
	inputSkip      input = "skip"      // the run goes on to its end without it
	inputCut       input = "cut"       // the claim ended while it ran; the next claim will run it again
	inputInterrupt input = "interrupt" // the run stops or the claim ends; a later session or claim will run it
)

// transitions is the whole life of a trial. An empty cell cannot happen.
//
//	           deploy     deployed  unhealthy   hopeless  start    result  wrong   retry     renew     fail    late     skip      cut       interrupt
//	planned    deploying  .         .           .         .        .       .       .         .         .       .        skipped   .         planned
//	deploying  .          warming   deploying¹  failed    .        .       .       .         .         .       .        skipped   .         planned
//	warming    .          .         planned²    failed    running  .       .       .         .         .       .        skipped   .         planned
//	running    .          .         .           .         .        ok      failed  running³  planned⁴  failed  timeout  skipped⁵  planned⁶  planned⁷
//
//	¹ a deployment is tried twice in a row
//	² a warm-up that spoils its deployment is not repeated, so this ends
//	³ the record's attempts tell of a retry; a wrong result has none, as it
//	  would hide that results differ
//	⁴ after a time limit or a dead driver it is unknown what the workers
//	  still do; the block is deployed anew for the trials that remain
//	⁵ the last claim ended while it ran
//	⁶ its record, skipped, is superseded by that of the next claim
//	⁷ an interrupted trial leaves no record and runs again on --resume
//
// The final states have no way out. A resumed run starts failed, timed out
// and skipped trials as planned ones; those that are ok it leaves alone.
var transitions = map[State]map[input]State{
	Planned: {inputDeploy: Deploying, inputSkip: Skipped, inputInterrupt: Planned},
	Deploying: {inputDeployed: Warming, inputUnhealthy: Deploying, inputHopeless: Failed,
		inputSkip: Skipped, inputInterrupt: Planned},
	Warming: {inputUnhealthy: Planned, inputHopeless: Failed, inputStart: Running,
		inputSkip: Skipped, inputInterrupt: Planned},
	Running: {inputResult: OK, inputWrong: Failed, inputRetry: Running, inputRenew: Planned,
		inputFail: Failed, inputLate: Timeout, inputSkip: Skipped, inputCut: Planned, inputInterrupt: Planned},
}

// next returns the state that follows, or an error for an input that cannot
// happen in s.
func (s State) next(in input) (State, error) {
	to, ok := transitions[s][in]
	if !ok {
		return s, fmt.Errorf("trial state %s: input %s cannot happen", s, in)
	}
	return to, nil
}

// Final tells whether a trial in this state is over.
func (s State) Final() bool { return len(transitions[s]) == 0 }

// progress is a trial on its way through the states.
type progress struct {
	trial    record.Trial
	block    int
	order    int
	state    State
	attempts []record.Attempt
	passed   int // the claim in which it was told that shorter trials go first
}

// step takes the trial to its next state.
func (p *progress) step(in input) error {
	to, err := p.state.next(in)
	if err != nil {
		return fmt.Errorf("trial %s: %w", p.trial.ID, err)
	}
	p.state = to
	return nil
}
