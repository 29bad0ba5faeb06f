package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/internal/failpoint"
	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/internal/need"
	"github.com/esched/esched/internal/slurmworld"
	"github.com/esched/esched/reserve"
	"github.com/esched/esched/runners/record"
)

// checks runs esched doctor and returns what it found.
func (h *headNode) checks(args ...string) findings {
	h.t.Helper()
	code, out := h.esched(append([]string{"doctor", "--json"}, args...)...)
	_, list, _ := strings.Cut(out, "\n[\n") // what is waited for comes before
	var all findings
	if err := json.Unmarshal([]byte("[\n"+strings.TrimPrefix(list, "[\n")), &all); err != nil {
		if err := json.Unmarshal([]byte(out), &all); err != nil {
			h.t.Fatalf("doctor %q: %v\n%s", args, err, out)
		}
	}
	bad := slices.ContainsFunc(all, func(f finding) bool { return f.State == stateBroken })
	if bad != (code == hint.ExitError) {
		h.t.Errorf("doctor %q: exit %d\n%s", args, code, out)
	}
	for _, f := range all {
		if f.State != stateOK && f.Mend == "" {
			h.t.Errorf("%s is %s without a mend: %s", f.Check, f.State, f.Found)
		}
	}
	return all
}

type findings []finding

// want checks that a check of a node, "" for none, ended in a state, and that
// what was found and its mend hold texts.
func (all findings) want(t *testing.T, node, check, state, found, mend string) {
	t.Helper()
	for _, f := range all {
		if f.Node == node && f.Check == check && f.State == state && strings.Contains(f.Found, found) && strings.Contains(f.Mend, mend) {
			return
		}
	}
	t.Errorf("want %s %s %s %q, Try: %q; have", state, node, check, found, mend)
	for _, f := range all {
		if f.Node == node {
			t.Logf("%s %s: %s, Try: %s", f.State, f.Check, f.Found, f.Mend)
		}
	}
}

// nodeChecks are those of a node.
var nodeChecks = []string{"login", "esched", "machine", "scratch", "python", "network", "clock"}

// TestDoctorOnClusters finds nothing broken on sound clusters, and each fault
// that is planted in one.
func TestDoctorOnClusters(t *testing.T) {
	t.Parallel()
	slurmworld.Run(t, slurmworld.Config{Nodes: 3, Env: forWorlds.named}, func(t *testing.T, w *slurmworld.World) {
		python := filepath.Dir(filepath.Dir(need.Python(t)))
		head := newHeadNode(t, w)
		for _, c := range []struct{ cluster, option string }{
			{"static", "--nodes=node001"}, {"slurm", "--reserve"}, {"srun", "--reserve"}, {"das6", "--reserve"},
		} {
			t.Run("sound "+c.cluster, func(t *testing.T) {
				h := head.at(t)
				h.write(python, `"dask"`, profiles)
				all := h.checks("--cluster", c.cluster, c.option)
				for _, f := range all {
					if f.State == stateBroken {
						t.Errorf("%s %s: %s", f.Node, f.Check, f.Found)
					}
				}
				for _, check := range nodeChecks {
					if !slices.ContainsFunc(all, func(f finding) bool { return f.Node != "" && f.Check == check && f.State == stateOK }) {
						t.Errorf("%s: not ok on a node, have %+v", check, all)
					}
				}
				h.nothingLeft()
				h.noCheckups()
			})
		}
		for _, c := range []struct {
			cluster, option string
			point           failpoint.Point
		}{
			{"slurm", "--reserve", failpoint.Told(string(record.EventReservation), string(reserve.Running))},
			{"slurm", "--reserve", failpoint.Visit},
			{"slurm", "--reserve", failpoint.After("scancel")},
			{"static", "--nodes=node001", failpoint.Visit},
		} {
			t.Run("killed on "+c.cluster+" at "+string(c.point), func(t *testing.T) {
				h := head.at(t)
				h.write(python, `"dask"`, profiles)
				h.start(c.point, "doctor", "--cluster", c.cluster, c.option).endsAt(c.point)
				h.allNoted()
				h.cleans()
				h.nothingLeft()
				h.noCheckups()
			})
		}
		t.Run("faults of the profile", func(t *testing.T) { testDoctorProfiles(t, head.at(t), python) })
		t.Run("faults of the user's files", func(t *testing.T) { testDoctorFiles(t, head.at(t), python) })
		t.Run("faults of nodes", func(t *testing.T) { testDoctorNodes(t, head.at(t), python) })
		t.Run("reservations", func(t *testing.T) { testDoctorReservations(t, head.at(t), python) })
	})
}

// noCheckups fails when a checkup left its records.
func (h *headNode) noCheckups() {
	h.t.Helper()
	if left, _ := filepath.Glob(filepath.Join(h.Home(h.t, slurmworld.User), ".local/state/esched/"+checkupPrefix+"*")); len(left) > 0 {
		h.t.Errorf("left: %q", left)
	}
}

// testDoctorProfiles plants mistakes in the experiment file.
func testDoctorProfiles(t *testing.T, h *headNode, python string) {
	const slurm = "[clusters.bad]\nkind = \"slurm\"\nscratch = \"/var/tmp\"\n"
	for _, c := range []struct {
		lines                    string
		options                  []string
		node, check, found, mend string
	}{
		{slurm + `partition = "nope"`, nil, "", "reservation", `no partition "nope"`, "defq"},
		{slurm + `partition = "closed"`, []string{"--reserve"}, "", "nodes", "partition closed takes no jobs: it is down", "defq"},
		{slurm + `native = ["--nonsense"]`, nil, "", "reservation", "nonsense", "native"},
		{"[clusters.bad]\nkind = \"das\"\npartition = \"nope\"", nil, "", "reservation", `no partition "nope"`, "sinfo"},
		{slurm + `interface = "ib7"`, []string{"--reserve"}, "node001", "network", "no address in network ib7", "interface"},
		{slurm + "user = \"nobody\"", []string{"--reserve"}, "node001", "login", "login as nobody refused", "ssh node001"},
	} {
		h.write(python, `"dask"`, c.lines+"\n")
		h.checks(append([]string{"--cluster", "bad"}, c.options...)...).want(t, c.node, c.check, stateBroken, c.found, c.mend)
	}
	h.nothingReserved()
}

// plant gives a file of the user's another text and returns what puts the
// first one back.
func (h *headNode) plant(name, text string) (restore func()) {
	h.t.Helper()
	path := filepath.Join(h.Home(h.t, slurmworld.User), name)
	before, err := os.ReadFile(path)
	missing := os.IsNotExist(err)
	if err != nil && !missing {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil { // an owner that is there stays
		h.t.Fatal(err)
	}
	h.Output(h.t, "root", "chown", slurmworld.User+":", path)
	return func() {
		if missing {
			err = os.Remove(path)
		} else {
			err = os.WriteFile(path, before, 0o600)
		}
		if err != nil {
			h.t.Error(err)
		}
	}
}

// testDoctorFiles plants mistakes in the user's home directory.
func testDoctorFiles(t *testing.T, h *headNode, python string) {
	h.write(python, `"dask"`, profiles)
	home, other, locked := h.Home(t, slurmworld.User), filepath.Join(h.dir, "other"), filepath.Join(h.dir, "locked")
	h.Output(t, slurmworld.User, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", other)
	h.Output(t, slurmworld.User, "ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", locked)

	restore := h.plant(".bashrc", "echo Welcome to the cluster\n")
	all := h.checks("--cluster", "slurm", "--reserve")
	all.want(t, "", "start-up files", stateNote, "Welcome to the cluster", "case $- in *i*)")
	all.want(t, "node001", "start-up files", stateNote, "Welcome to the cluster", "case $- in *i*)")
	all.want(t, "node001", "python", stateOK, "Dask", "")
	restore()

	restore = h.plant(".bashrc", "echo Closed for maintenance\nexit 0\n")
	all = h.checks("--cluster", "slurm", "--reserve")
	all.want(t, "", "start-up files", stateBroken, "executes no command", "case $- in *i*)")
	all.want(t, "node001", "login", stateBroken, "Closed for maintenance", "ssh node001")
	restore()

	restore = h.plant(".ssh/known_hosts", "elsewhere ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAV0ezTpyKR8bKaw7CBsm47M2+3ti0LKzZ/ctoDF1nWJ\n")
	all = h.checks("--cluster", "static", "--nodes", "node001")
	all.want(t, "", "known hosts", stateBroken, "no key of node001", "connect once with: ssh node001")
	all.want(t, "node001", "login", stateBroken, "host key unknown", "ssh node001")
	restore()

	known, err := os.ReadFile(filepath.Join(home, ".ssh/known_hosts"))
	if err != nil {
		t.Fatal(err)
	}
	restore = h.plant(".ssh/known_hosts", strings.ReplaceAll(string(known), "node002,", "node999,"))
	restoreConfig := h.plant(".ssh/config", "Host *\n  IdentitiesOnly yes\n  IdentityFile "+locked+"\n")
	all = h.checks("--cluster", "slurm")
	all.want(t, "", "known hosts", stateNote, "no key of node002, so 1 of 3 node(s)", "ssh node002")
	all.want(t, "", "ssh keys", stateBroken, "has a passphrase", "ssh-add "+locked)
	restoreConfig()
	restore()

	restore = h.plant(".ssh/config", "Host *\n  IdentitiesOnly yes\n  IdentityFile "+other+"\n")
	all = h.checks("--cluster", "slurm", "--reserve")
	all.want(t, "", "authorized keys", stateNote, "none of these keys", "authorized_keys")
	all.want(t, "node001", "login", stateBroken, "none of 1 keys was accepted", "ssh node001")
	restore()

	preserve := filepath.Join(home, "bin", "preserve")
	if err := os.Rename(preserve, preserve+".away"); err != nil {
		t.Fatal(err)
	}
	h.checks("--cluster", "das6").want(t, "", "queue commands", stateBroken, "preserve not on PATH", "module load prun")
	if err := os.Rename(preserve+".away", preserve); err != nil {
		t.Fatal(err)
	}
	h.nothingReserved()
}

// testDoctorNodes plants several faults on one node. One visit finds them all,
// and nothing else.
func testDoctorNodes(t *testing.T, h *headNode, python string) {
	h.OnNode(t, "node002", "chmod", "755", "/var/tmp")
	h.OnNode(t, "node002", "sh", "-c", "cp /bin/date /dev/shm/date; printf '#!/bin/sh\nexec /dev/shm/date -d 1hour \"$@\"\n' >/dev/shm/late; "+
		"chmod 755 /dev/shm/late; mount --bind /dev/shm/late /bin/date")
	const environment = "/var/tmp/environment" // the head's own disk is not the nodes'
	if err := os.Symlink(python, environment); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(environment)
	h.write(environment, `"dask"`, profiles)
	all := h.checks("--cluster", "static", "--nodes", "node[001-002]")
	for _, f := range all {
		if f.Node != "" && f.State != stateOK && f.Check != "python" && (f.Node == "node001" || f.Check != "scratch" && f.Check != "clock") {
			t.Errorf("want no more than was planted, have %+v", f)
		}
	}
	all.want(t, "node002", "scratch", stateBroken, "/var/tmp", "scratch")
	all.want(t, "node002", "clock", stateNote, "+3", "NTP")
	for _, node := range []string{"node001", "node002"} {
		all.want(t, node, "python", stateBroken, environment, `environment_on = "node"`)
	}
	h.OnNode(t, "node002", "umount", "/bin/date")
	h.OnNode(t, "node002", "chmod", "1777", "/var/tmp")
	h.nothingLeft()
}

// testDoctorReservations looks at nodes of a reservation that is there, unless
// a run uses it.
func testDoctorReservations(t *testing.T, h *headNode, python string) {
	h.write(python, `"dask"`, profiles)
	h.checks("--cluster", "slurm").want(t, "", "nodes", stateNote, "no reservation of yours runs", "--cluster slurm --reserve")
	job := h.Output(t, slurmworld.User, "sbatch", "--parsable", "--exclusive", "-N", "1", "-t", "10", "-o", "/dev/null", "--wrap", "sleep infinity")
	eventually(t, leftoverBound, "a node", func() bool {
		return h.Output(t, slurmworld.User, "squeue", "-h", "-j", job, "-o", "%T") == "RUNNING"
	})
	run := filepath.Join(h.dir, "left")
	store, err := record.Create(run, record.Manifest{})
	if err != nil {
		t.Fatal(err)
	}
	const ledger = ".local/state/esched/ledger"
	h.Output(t, slurmworld.User, "mkdir", "-p", ledger)
	entry, err := json.Marshal(map[string]any{"kind": "slurm", "id": job, "run": run, "made": time.Now(), "cluster": "slurm"})
	if err != nil {
		t.Fatal(err)
	}
	restore := h.plant(filepath.Join(ledger, "slurm-"+job+".json"), string(entry))
	h.checks("--cluster", "slurm").want(t, "", "nodes", stateNote, "must not be disturbed: "+run, "--reserve")
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	all := h.checks("--cluster", "slurm")
	all.want(t, "", "nodes", stateOK, "of reservation "+job, "")
	all.want(t, "node001", "login", stateOK, "ssh", "")
	if jobs := h.Output(t, slurmworld.User, "squeue", "-h", "--me", "-o", "%i"); jobs != job {
		t.Errorf("want the reservation kept, have jobs %q", jobs)
	}
	restore()
	h.Output(t, slurmworld.User, "scancel", job)
	h.nothingReserved()
}
