package cmd

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/esched/esched/reserve"
)

// TestVanished tells what the queue's answers mean after something was lost.
func TestVanished(t *testing.T) {
	t.Parallel()
	gone := reserve.Status{State: reserve.Gone, Reason: "ending"}
	always := func(s reserve.Status, err error) func(time.Duration) (reserve.Status, error) {
		return func(time.Duration) (reserve.Status, error) { return s, err }
	}
	for _, c := range []struct {
		name string
		say  func(began time.Time) func(time.Duration) (reserve.Status, error)
		over bool
		took time.Duration
	}{
		{"running", func(began time.Time) func(time.Duration) (reserve.Status, error) {
			return always(reserve.Status{State: reserve.Running, Deadline: began.Add(time.Second)}, nil)
		}, false, 0},
		{"running without an end", func(time.Time) func(time.Duration) (reserve.Status, error) {
			return always(reserve.Status{State: reserve.Running}, nil)
		}, false, 0},
		{"running beyond its end", func(began time.Time) func(time.Duration) (reserve.Status, error) {
			return always(reserve.Status{State: reserve.Running, Deadline: began}, nil)
		}, true, 0},
		{"gone twice", func(time.Time) func(time.Duration) (reserve.Status, error) { return always(gone, nil) }, true, confirmPause},
		{"gone once", func(time.Time) func(time.Duration) (reserve.Status, error) {
			return func(waited time.Duration) (reserve.Status, error) {
				if waited == 0 {
					return gone, nil
				}
				return reserve.Status{State: reserve.Running}, nil
			}
		}, false, confirmPause},
		{"silent", func(time.Time) func(time.Duration) (reserve.Status, error) {
			return always(reserve.Status{}, errors.New("no answer"))
		}, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				h := &holding{Reservation: &counter{began: began, say: c.say(began)}, now: time.Now}
				err := h.vanished(t.Context())
				if over := errors.Is(err, errTaken); over != c.over || err != nil && !over {
					t.Errorf("want over %t, have %v", c.over, err)
				}
				if took := time.Since(began); took != c.took {
					t.Errorf("want an answer after %v, have %v", c.took, took)
				}
			})
		})
	}
}
