package slurm

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/esched/esched/reserve"
)

// States of jobs by what they mean for a reservation. Whatever is not here
// waits: only evidence counts as running or as over.
var (
	// overStates are ends that somebody wanted: the user, an administrator, the
	// time limit, a job of higher rank.
	overStates = map[string]string{
		"CANCELLED":  "the job was cancelled",
		"COMPLETED":  "the job has ended",
		"COMPLETING": "the job is ending",
		"TIMEOUT":    "the job reached its time limit",
		"DEADLINE":   "the job could no longer end before the site's working hours",
		"PREEMPTED":  "a job of higher rank took the nodes",
		"REVOKED":    "another cluster runs the job",
	}
	failedStates = map[string]string{
		"FAILED":        "the job failed",
		"NODE_FAIL":     "a node failed",
		"BOOT_FAIL":     "a node did not boot",
		"OUT_OF_MEMORY": "the job ran out of memory",
		"LAUNCH_FAILED": "the job could not be launched",
		"RECONFIG_FAIL": "a node could not be configured",
	}
	// hopeless are reasons for which a pending job never starts unless somebody
	// changes it or the cluster.
	hopeless = []string{
		"PartitionNodeLimit", "PartitionTimeLimit", "BadConstraints", "DependencyNeverSatisfied",
		"InvalidAccount", "InvalidQOS", "AccountNotAllowed", "QOSNotAllowed", "ReservationDeleted", "DeadLine",
	}
	// unready are flags beside RUNNING of a job whose nodes cannot be used.
	unready = []string{"CONFIGURING", "POWER_UP_NODE", "SUSPENDED", "STOPPED"}
)

// status is what a job's line means:
//
//	PENDING, CONFIGURING, SUSPENDED, ...   pending (failed when it is hopeless)
//	RUNNING with nodes                     running
//	CANCELLED, COMPLETED, TIMEOUT, ...     gone
//	FAILED, NODE_FAIL, ...                 failed
func (j job) status(now time.Time) reserve.Status {
	s := reserve.Status{State: reserve.Pending, Reason: strings.ToLower(strings.Join(j.states, " "))}
	if j.reason != "" && j.reason != "None" {
		s.Reason = j.reason
	}
	for _, state := range j.states {
		if text, ok := failedStates[state]; ok {
			return reserve.Status{State: reserve.Failed, Reason: because(text, j.reason), Start: j.start}
		}
	}
	for _, state := range j.states {
		if text, ok := overStates[state]; ok {
			return reserve.Status{State: reserve.Gone, Reason: because(text, j.reason), Start: j.start}
		}
	}
	switch {
	case slices.Contains(j.states, "RUNNING") && !slices.ContainsFunc(j.states, isUnready):
		hosts, err := j.hosts()
		switch {
		case err != nil:
			s.Reason = "running: " + err.Error()
		case len(hosts) == 0:
			s.Reason = "running, nodes not told yet"
		default:
			return reserve.Status{State: reserve.Running, Hosts: hosts, Start: j.start, Deadline: j.end}
		}
	case slices.Contains(j.states, "PENDING"):
		if slices.Contains(hopeless, j.reason) {
			s.State = reserve.Failed
			s.Reason = fmt.Sprintf("the job will never start (%s)", j.reason)
			return s
		}
		if j.start.After(now) {
			s.Start = j.start
		}
	}
	return s
}

func isUnready(state string) bool { return slices.Contains(unready, state) }

func because(text, reason string) string {
	if reason == "" || reason == "None" {
		return text
	}
	return text + " (" + reason + ")"
}
