package cmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/reserve"
	"github.com/esched/esched/runners"
	"github.com/esched/esched/runners/record"
)

// claimSite is a site whose claims wait for the hours in which the cluster
// allows them, and can be extended while they are used.
type claimSite struct {
	*site
	policy reserve.TimePolicy
	made   int // claims so far

	mu      sync.Mutex
	running *holding // nil when there is none
}

// Reserve implements runners.Site.
func (x *claimSite) Reserve(ctx context.Context, tell func(record.Event)) (runners.Grant, error) {
	if err := x.awaitHours(ctx, tell); err != nil {
		return runners.Grant{}, err
	}
	x.made++
	grant, err := x.site.Reserve(ctx, tell)
	if err == nil {
		x.mu.Lock()
		x.running = x.reservation
		x.mu.Unlock()
	}
	return grant, err
}

// hoursPoll bounds the time between two looks at the clock, which may jump.
const hoursPoll = time.Minute

// awaitHours waits until the cluster's time policy allows the next claim. Of a
// run that may make one claim only nothing is decided here: it is refused with
// the arithmetic, and its user chooses another time. Who allows several has
// left the times to us.
func (x *claimSite) awaitHours(ctx context.Context, tell func(record.Event)) error {
	if x.runner.Claims <= 1 {
		return nil
	}
	for told := false; ; told = true {
		now := x.Now()
		reason := x.policy.Check(now, x.experiment.ClaimTime)
		next := x.policy.NextStart(now, x.experiment.ClaimTime)
		if reason == nil || next.IsZero() { // never allowed: the queue's check refuses it
			return nil
		}
		if !told {
			tell(record.Event{Kind: record.EventReservation, State: "waiting", Start: next,
				Message: fmt.Sprintf("claim %d waits until %s: %v", x.made+1, next.Format("Mon 2006-01-02 15:04"), reason)})
		}
		timer := time.NewTimer(max(0, min(hoursPoll, next.Sub(now))))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}

// Release implements runners.Site.
func (x *claimSite) Release(ctx context.Context, tell func(record.Event)) error {
	x.mu.Lock()
	x.running = nil
	x.mu.Unlock()
	return x.site.Release(ctx, tell)
}

// Extend implements runners.Extender.
func (x *claimSite) Extend(ctx context.Context, by time.Duration) (time.Time, error) {
	x.mu.Lock()
	r := x.running
	x.mu.Unlock()
	if r == nil {
		return time.Time{}, fmt.Errorf("%w: it has just ended", runners.ErrFixed)
	}
	deadline, err := r.extend(ctx, by)
	if errors.Is(err, reserve.ErrFixed) {
		err = fmt.Errorf("%w: %w", runners.ErrFixed, err)
	}
	return deadline, err
}

// extendLimit bounds the question to the queue whether a claim may be longer.
const extendLimit = time.Minute

// extend asks for as much time again as the claim was for; the events tell what
// comes of it.
func (s *session) extend(ctx context.Context, by string) {
	ctx, cancel := context.WithTimeout(ctx, extendLimit)
	defer cancel()
	if err := s.runner.Extend(ctx, s.experiment.ClaimTime); err != nil {
		text := fmt.Sprintf("%s: %v", by, err)
		if mend := hint.Of(err); mend != "" {
			text += "; try: " + mend
		}
		s.warn(text)
	}
}

// fill tells the runner how to fill claims with the plan.
func (s *session) fill() {
	times := s.learnTimes(filepath.Dir(s.dir))
	claims := s.clusterOptions(s.experiment.Cluster).Claims
	s.runner.Claim, s.runner.Claims = s.experiment.ClaimTime, claims
	s.runner.Forecast = runners.NewForecast(s.experiment, times)
	s.estimate = runners.EstimatePlan(s.plan, s.experiment, times)
}

// tellFit warns of a new plan that does not fit one claim.
func (s *session) tellFit() {
	est, claims := s.estimate, s.runner.Claims
	if s.earlier != nil || est.Fits {
		return
	}
	text := fmt.Sprintf("the plan needs about %s", est.Duration.Round(time.Second))
	if est.Claims > 1 {
		text += fmt.Sprintf(", which are %d claims of %s", est.Claims, est.Claim)
	}
	switch {
	case est.Claims > claims:
		text += fmt.Sprintf("; at most %d may be made (claims), trials that do not fit will be skipped", claims)
	case est.TooLong > 0:
		text += fmt.Sprintf("; %d trial(s) fit into no claim and will be skipped", est.TooLong)
	default:
		text += ", one after the other"
	}
	s.warn(text)
}

// merged adds the machines of a further claim to those of the run; what is
// newer counts.
func merged(hosts, more []record.Host) []record.Host {
	all := slices.Clone(hosts)
	for _, h := range more {
		at := slices.IndexFunc(all, func(x record.Host) bool { return x.Name == h.Name })
		if at < 0 {
			all = append(all, h)
			continue
		}
		all[at] = h
	}
	return all
}

var _ interface {
	runners.Site
	runners.Extender
} = (*claimSite)(nil)

// timePolicy is the site's rule for claims in working hours.
func (o clusterOptions) timePolicy() reserve.TimePolicy {
	return reserve.TimePolicy{MaxClaim: o.MaxClaim, From: o.WorkingHours.From, To: o.WorkingHours.To}
}
