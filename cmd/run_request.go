package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/reserve"
	"github.com/esched/esched/runners"
)

// request is what a run of a plan asks its queue for with each claim.
func (o clusterOptions) request(e *runners.Experiment, plan *runners.Plan, run string) reserve.Request {
	return reserve.Request{Run: run, Nodes: o.reserved(plan.Nodes()), Claim: e.ClaimTime, Poll: e.PollInterval}
}

// mayBegin is when the site's time policy allows a claim: now, or, for a run
// that may make several, at a later time. It is zero when the claim is refused.
// Unless it may begin now, reason says why not.
func (o clusterOptions) mayBegin(now time.Time, claim time.Duration) (begin time.Time, reason error) {
	policy := o.timePolicy()
	if reason = policy.Check(now, claim); reason == nil {
		return now, nil
	}
	if o.Claims > 1 {
		begin = policy.NextStart(now, claim)
	}
	return begin, reason
}

// checkRequest refuses what the site's rules or the queue would never grant,
// while nothing of the run exists yet.
func (s *session) checkRequest(ctx context.Context) error {
	ctx, stop := s.interruptible(ctx)
	defer stop()
	o := s.clusterOptions(s.experiment.Cluster)
	if begin, reason := o.mayBegin(s.Now(), s.experiment.ClaimTime); begin.IsZero() {
		return reason
	}
	o.MaxClaim = 0 // that was this
	reserver, err := s.newReserver(o)
	if err != nil {
		return err
	}
	return interruptedOr(ctx, reserver.Check(ctx, o.request(s.experiment, s.plan, s.path(s.Output))))
}

// outlook says what is known of a plan's claim without asking a queue.
type outlook struct {
	// Begin is when the site's hours allow the claim, if that is later than now.
	Begin time.Time `json:"begin,omitzero"`
	// Reason is why it waits or is refused, Hint what mends that.
	Refused bool   `json:"refused"`
	Reason  string `json:"reason,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

// outlookOf tells whether a run of the plan would be refused now.
func (p Process) outlookOf(ctx context.Context, e *runners.Experiment, plan *runners.Plan, output string) (outlook, error) {
	o, now := p.clusterOptions(e.Cluster), p.Now()
	begin, reason := o.mayBegin(now, e.ClaimTime)
	if reason != nil {
		return outlook{Begin: begin, Refused: begin.IsZero(), Reason: reason.Error(), Hint: hint.Of(reason)}, nil
	}
	q := o.request(e, plan, p.path(output))
	if o.Kind == clusterSLURM || o.Kind == clusterDAS { // whose own checks ask it
		reason = reserve.Profile{Now: p.Now, MaxNodes: o.MaxNodes}.Check(ctx, q)
	} else {
		reserver, err := p.newReserver(o)
		if err != nil {
			return outlook{}, err
		}
		reason = reserver.Check(ctx, q)
	}
	if reason != nil {
		return outlook{Refused: true, Reason: reason.Error(), Hint: hint.Of(reason)}, nil
	}
	return outlook{}, nil
}

// words tell what stands against the claim, "" when nothing is known to.
func (l outlook) words() string {
	switch {
	case l.Refused:
		text := "a run would be refused now: " + l.Reason + "\n"
		if l.Hint != "" {
			text += "Try: " + l.Hint + "\n"
		}
		return text
	case !l.Begin.IsZero():
		return fmt.Sprintf("the claim would wait until %s: %s\n", l.Begin.Format("Mon 2006-01-02 15:04"), l.Reason)
	}
	return ""
}
