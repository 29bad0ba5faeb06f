package deploy

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/esched/esched/internal/hint"
)

// Stay tells for whom a directory on a node is there, and until when. It is
// kept in the directory itself, so that whoever finds the directory after its
// run was lost knows when nobody needs it any more.
type Stay struct {
	// Run is the run's directory on the machine where esched ran, Reservation
	// the kind and id of what the node was reserved with.
	Run         string `json:"run"`
	Reservation string `json:"reservation"`
	// Until is when the claim ends; zero when that is not known.
	Until time.Time `json:"until"`
}

// stayFile is the name of a Stay in the directory it is about.
const stayFile = "stay.json"

// staySlack is how long after the end of its claim a run's directory is left
// alone: clocks differ, and queues are generous.
const staySlack = 10 * time.Minute

// Tidying is what a node is asked to do in a user's own directory there.
type Tidying struct {
	// Home is the user's directory, an absolute path. What is removed is below
	// it. Required.
	Home string `json:"home"`
	// Dir is made for a new stay and gets Stay, and Home as well; "" for neither.
	Dir  string `json:"dir,omitempty"`
	Stay Stay   `json:"stay"`
	// Now is the time by the clock that wrote what Stays say. Required.
	Now time.Time `json:"now"`
	// Over are directories of runs that are known to be over. Others are removed
	// when their own Stay is over and no process runs that is recorded in them.
	Over []string `json:"over,omitempty"`
	// Copies asks to remove the copies of environments and of esched, too, unless
	// a run may use them. A Host must be closed afterwards: its guards are gone.
	Copies bool `json:"copies,omitempty"`
}

// Tidied is what came of it.
type Tidied struct {
	// Removed are the directories of runs that are not there any more, those of
	// Over included that were not there before.
	Removed []string `json:"removed,omitempty"`
	// Left are those of Over that are still there, and copies, with the reason.
	Left map[string]string `json:"left,omitempty"`
}

// Tidy makes a directory for a run on a host and removes what runs of the same
// user left there whose time is over. Only directories that a run made for
// itself are touched: known by their Stay or by Over, never by name alone.
func Tidy(ctx context.Context, h Host, t Tidying) (Tidied, error) {
	node, ok := h.(interface {
		Tidy(ctx context.Context, t Tidying) (Tidied, error)
	})
	if !ok {
		return Tidied{}, fmt.Errorf("tidy %s on %s: no guard is there to do it", t.Home, h.Name())
	}
	return node.Tidy(ctx, t)
}

// Tidy does on the node what the function Tidy tells.
func (n *Node) Tidy(ctx context.Context, t Tidying) (Tidied, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, cleanAnswer, fmt.Errorf("no answer within %v", cleanAnswer))
	defer cancel()
	var answer Tidied
	err := n.converse(ctx, "tidy", func(c *conversation) error {
		if err := c.out.writeJSON(frameTidy, t); err != nil {
			return err
		}
		payload, err := c.next(frameDone)
		if err != nil {
			return err
		}
		return json.Unmarshal(payload, &answer)
	})
	if err != nil {
		err = fmt.Errorf("private directory below %s on %s: %w", t.Home, n.name, err)
		return answer, hint.With(err, "choose a scratch directory on the nodes in which you may make directories")
	}
	return answer, nil
}
