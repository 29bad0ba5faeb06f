package reserve

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/esched/esched/internal/hint"
)

// Profile is what every kind of [Reserver] needs to know of a cluster.
type Profile struct {
	// Ledger gets the entries. Required.
	Ledger *Ledger
	// Now is the clock; its location is that of the time policy and of the
	// queue's dates. Required.
	Now func() time.Time
	// Cluster is the name of the cluster's profile. Optional.
	Cluster string
	// MaxNodes bounds a reservation; 0 for no bound but the cluster's.
	MaxNodes int
	// Policy is the site's rule about long claims. Optional.
	Policy TimePolicy
}

// Check refuses a request that makes no sense or breaks the profile's rules.
func (p Profile) Check(ctx context.Context, q Request) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := q.Check(); err != nil {
		return err
	}
	if p.MaxNodes > 0 && q.Nodes > p.MaxNodes {
		return hint.Usage(fmt.Errorf("%d nodes asked, the cluster's profile allows %d at once (max_nodes)", q.Nodes, p.MaxNodes),
			fmt.Sprintf("ask for up to %d nodes, or raise max_nodes of the cluster's profile", p.MaxNodes))
	}
	return p.Policy.Check(p.Now(), q.Claim)
}

// CheckLonger refuses that a claim which began at that time goes on until
// another, when the site's policy forbids claims of that length.
func (p Profile) CheckLonger(begin, until time.Time) error {
	begin = begin.In(p.Now().Location())
	if err := p.Policy.Check(begin, until.Sub(begin)); err != nil {
		return hint.With(err, OtherClaim)
	}
	return nil
}

// OtherClaim is how a run goes on whose claim may not be longer.
const OtherClaim = "let the claim end: the rest runs in another one (claims), or later with esched run --resume"

// Mark returns a word that no other reservation has.
func Mark() string { return strings.ToLower(rand.Text()[:10]) }

// Entry is what the ledger is to say of a new request to a kind of queue.
func (p Profile) Entry(q Request, kind, id, terms string) Entry {
	now := p.Now()
	return Entry{
		Kind: kind, ID: id, Run: q.Run, Made: now, Deadline: now.Add(q.Claim), Cluster: p.Cluster,
		Nodes: q.Nodes, Terms: terms,
	}
}

// Enter writes such an entry into the ledger.
func (p Profile) Enter(q Request, kind, id, terms string) (Entry, error) {
	e := p.Entry(q, kind, id, terms)
	return e, p.Ledger.Add(e)
}

// Adopt implements [Adopter] for a kind whose queue grants nodes: r is its
// Reserver, terms what it asks for besides nodes and time.
func (p Profile) Adopt(ctx context.Context, r Reserver, q Request, e Entry, terms string) (Reservation, error) {
	if e.Kind != r.Kind() || e.Cluster != p.Cluster || e.Nodes < q.Nodes || e.Terms != terms {
		return nil, nil
	}
	v, err := r.Attach(e)
	if err != nil {
		return nil, err
	}
	s, err := v.Status(ctx)
	if err != nil {
		return nil, err
	}
	var left time.Duration
	switch {
	case s.State == Pending:
		left = e.Deadline.Sub(e.Made)
	case s.State != Running || len(s.Hosts) < q.Nodes:
	case s.Deadline.IsZero():
		left = q.Claim
	default:
		left = s.Deadline.Sub(p.Now())
	}
	// What ran unobserved for a moment is not worth another wait in the queue.
	if 10*left < 9*q.Claim {
		return nil, nil
	}
	adopted := e
	adopted.Run = q.Run
	if ours, err := p.Ledger.HandOver(ctx, e, adopted); err != nil || !ours {
		return nil, err
	}
	return r.Attach(adopted)
}
