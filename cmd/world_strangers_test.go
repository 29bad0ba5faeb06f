package cmd

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/esched/esched/deploy/tlsca"
	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/internal/need"
	"github.com/esched/esched/internal/slurmworld"
	"github.com/esched/esched/runners/record"
)

// runAmongStrangers looks at a run as another user of the cluster can: at all
// that listens, all files, and all that is told of processes.
func runAmongStrangers(h *headNode, python string) {
	h.faultPlan(python, "interface = \"ib0\"\n")
	h.replaceInPlan(`timeout = "180s"`, `timeout = "1200s"`) // all of it is looked at while a trial is held
	h.replace(`schedulers = ["dask"]`, "schedulers = [\"sidekick\"]\npolicies = [\"random\"]")
	for _, dir := range []string{h.Home(h.t, slurmworld.User), h.dir} { // as homes are at many places
		if err := os.Chmod(dir, 0o755); err != nil {
			h.t.Fatal(err)
		}
	}
	goOn := h.hold()
	x := h.start("", "run", "--plain")
	h.held()

	var nodes []string
	for _, host := range h.run().Manifest.Hosts {
		nodes = append(nodes, host.Name)
	}
	secret := h.identity(nodes[0])
	h.doorsAreLocked(secret)
	h.socketsAreClosed()
	h.keepsSecrets(secret, nodes)
	h.noForeignWorkers()

	goOn()
	if code, out := x.ends(); code != hint.ExitOK {
		h.t.Errorf("exit code %d\n%s", code, out)
	}
	h.complete("")
	for _, rec := range measured(h.t, h.run()) {
		if len(rec.PerWorker) != 2 {
			h.t.Errorf("%s: want two workers, have %+v", rec.Trial, rec.PerWorker)
		}
	}
}

// identity is a node's certificate and key in the deployment that is up.
func (h *headNode) identity(node string) []byte {
	h.t.Helper()
	text := h.OnNode(h.t, node, "sh", "-c", "cat /var/tmp/esched-"+slurmworld.User+"/r*/d*/"+node+".pem")
	if strings.Count(text, "PRIVATE KEY") != 2 {
		h.t.Fatalf("want one key, have %d bytes", len(text))
	}
	return []byte(text)
}

// doorsAreLocked tries every port that something listens on, on every machine.
func (h *headNode) doorsAreLocked(secret []byte) {
	h.t.Helper()
	ours, err := tls.X509KeyPair(secret, secret)
	if err != nil {
		h.t.Fatal(err)
	}
	foreign := foreignIdentity(h.t)
	theirs, err := tls.X509KeyPair(foreign, foreign)
	if err != nil {
		h.t.Fatal(err)
	}
	doors := 0
	for _, node := range h.Nodes {
		for _, s := range h.Listening(h.t, node) {
			doors++
			if s.Protocol != "tcp" || !strings.HasPrefix(s.Address, "10.78.") {
				h.t.Errorf("%s: %+v: want TCP on the chosen network only", node, s)
				continue
			}
			if !answersTLS(h.t, s.Address, []tls.Certificate{ours}, daskHello) {
				h.t.Errorf("%s does not answer its own", s.Address)
			}
			for who, visit := range map[string]func() bool{
				"a foreign certificate":    func() bool { return answersTLS(h.t, s.Address, []tls.Certificate{theirs}, daskHello) },
				"no certificate":           func() bool { return answersTLS(h.t, s.Address, nil, daskHello) },
				"a page asked for":         func() bool { return answersTLS(h.t, s.Address, nil, "GET / HTTP/1.0\r\n\r\n") },
				"Dask without TLS":         func() bool { return answersPlain(h.t, s.Address, daskHello) },
				"a page asked without TLS": func() bool { return answersPlain(h.t, s.Address, "GET / HTTP/1.0\r\n\r\n") },
			} {
				if visit() {
					h.t.Errorf("%s (%s) answers to %s", s.Address, s.Owner, who)
				}
			}
		}
	}
	if doors != 3 { // of the scheduler and two workers
		h.t.Errorf("want 3 ports, have %d", doors)
	}
	for line := range strings.Lines(h.Output(h.t, "root", "ss", "-Hltunp")) { // on the head
		if strings.Contains(line, `"esched"`) || strings.Contains(line, `"python`) {
			h.t.Errorf("the head listens: %s", line)
		}
	}
}

// foreignIdentity is a certificate with key of another authority.
func foreignIdentity(t *testing.T) []byte {
	t.Helper()
	a, err := tlsca.New(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	id, err := a.Issue("stranger", nil, time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return id.PEM
}

// daskHello is how a peer in Dask's protocol begins: the length of what
// follows, one frame and its length, and facts of the sender in MessagePack.
const daskHello = "\x13\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x81\xa1a\x01"

// answersTLS says whether a port answers to a text over TLS, by who shows these
// certificates and trusts everybody.
func answersTLS(t *testing.T, address string, own []tls.Certificate, text string) bool {
	t.Helper()
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: runLimit}, "tcp", address, &tls.Config{InsecureSkipVerify: true, Certificates: own})
	if err != nil {
		return false
	}
	defer conn.Close()
	return converse(t, conn, text) != ""
}

// answersPlain says whether a port answers to a text without TLS. An alert of
// TLS is no answer.
func answersPlain(t *testing.T, address, text string) bool {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, runLimit)
	if err != nil {
		t.Errorf("%s: %v", address, err)
		return false
	}
	defer conn.Close()
	const alert = "\x15"
	answer := converse(t, conn, text)
	return answer != "" && !strings.HasPrefix(answer, alert)
}

// converse returns the beginning of the answer to a text.
func converse(t *testing.T, conn net.Conn, text string) string {
	t.Helper()
	_ = conn.SetDeadline(time.Now().Add(runLimit))
	_, _ = io.WriteString(conn, text) // a refusal may come first
	answer := make([]byte, 8)
	n, err := io.ReadAtLeast(conn, answer, 1)
	if e, ok := err.(net.Error); ok && e.Timeout() {
		t.Errorf("%s: neither an answer nor an end", conn.RemoteAddr())
	}
	return string(answer[:n])
}

// byOther runs a script by another user on a machine and returns what it wrote to
// standard output, however it ended.
func (h *headNode) byOther(node, script string) string {
	h.t.Helper()
	return h.Output(h.t, slurmworld.Other, "ssh", node, "{ "+script+"; } 2>/dev/null || :")
}

// socketsAreClosed tries the unix sockets of the run.
func (h *headNode) socketsAreClosed() {
	h.t.Helper()
	const connect = `import socket,sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1]); print("connected")`
	tried := 0
	for _, node := range h.Nodes {
		for line := range strings.Lines(h.OnNode(h.t, node, "ss", "-Hlxp")) {
			f := strings.Fields(line)
			if len(f) < 5 || strings.Contains(line, `"slurm`) || strings.Contains(line, `"sshd"`) {
				continue
			}
			tried++
			argv := fmt.Sprintf("python3 -c '%s' %s", connect, f[4])
			if have := h.OnNode(h.t, node, "sh", "-c", argv); have != "connected" {
				h.t.Errorf("%s: %s: nobody can connect: %q", node, f[4], have)
			}
			if have := h.byOther(node, argv); have != "" {
				h.t.Errorf("%s: others can connect to %s", node, f[4])
			}
		}
	}
	if tried != 1 { // of the service
		h.t.Errorf("want one unix socket, have %d", tried)
	}
}

// keepsSecrets looks for keys in what others can read, and in what processes
// were started with.
func (h *headNode) keepsSecrets(secret []byte, nodes []string) {
	h.t.Helper()
	_, body, _ := strings.Cut(string(secret), "BEGIN PRIVATE KEY-----\n")
	key, _, _ := strings.Cut(body, "\n")
	find := "grep -rlsI 'PRIVATE KEY' /var/tmp /dev/shm " + h.Home(h.t, slurmworld.User)
	for _, node := range nodes {
		files := strings.Fields(h.OnNode(h.t, node, "sh", "-c", find+" | grep -v /.ssh/"))
		if len(files) != 1 {
			h.t.Errorf("%s: want one file with a key, have %q", node, files)
		}
		for _, f := range files {
			if mode := h.OnNode(h.t, node, "stat", "-c", "%a", f, filepath.Dir(f)); mode != "600\n700" {
				h.t.Errorf("%s: modes of %s and its directory: have %s", node, f, mode)
			}
		}
		if have := h.byOther(node, find); have != "" {
			h.t.Errorf("%s: others can read the keys in %s", node, have)
		}
		if have := h.byOther(node, "find /var/tmp -maxdepth 1 -user "+slurmworld.User+" -perm /077 ! -type l"); have != "" {
			h.t.Errorf("%s: others have access to %s", node, have)
		}
		environments := "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep "
		if have := h.byOther(node, environments+"ESCHED_PROCESS="); have != "" {
			h.t.Errorf("%s: others can read %s", node, have)
		}
		if h.byOther(node, environments+"USER="+slurmworld.Other) == "" {
			h.t.Errorf("%s: nobody can read any environment", node)
		}
	}
	own, err := filepath.Glob("/proc/[0-9]*") // of the head and of all nodes
	if err != nil {
		h.t.Fatal(err)
	}
	seen := 0
	for _, process := range own {
		argv, _ := os.ReadFile(filepath.Join(process, "cmdline"))
		environ, _ := os.ReadFile(filepath.Join(process, "environ"))
		if strings.Contains(string(environ), "ESCHED_PROCESS=") {
			seen++
		}
		for _, text := range []string{key, "PRIVATE KEY"} {
			if strings.Contains(string(argv), text) || strings.Contains(string(environ), text) {
				h.t.Errorf("%s was started with a key: %q", process, argv)
			}
		}
	}
	if seen < 4 { // scheduler, service, two workers
		h.t.Errorf("only %d processes are esched's", seen)
	}
}

// noForeignWorkers lets another user start workers for the scheduler.
func (h *headNode) noForeignWorkers() {
	h.t.Helper()
	dir := h.TempDir(h.t, slurmworld.Other)
	pem := filepath.Join(dir, "stranger.pem")
	if err := os.WriteFile(pem, foreignIdentity(h.t), 0o644); err != nil {
		h.t.Fatal(err)
	}
	address := ""
	for _, e := range h.run().Events {
		if e.Kind == record.EventDeployment && e.State == "ready" {
			address = e.Message
		}
	}
	const registered = "Registered to:"
	if logs, err := filepath.Glob(filepath.Join(h.dir, "runs", "*", logsDir, "*", "worker-*.log")); err != nil || len(logs) == 0 || !strings.Contains(readAll(h.t, logs[0]), registered) {
		h.t.Fatalf("workers do not say %q in %q, %v", registered, logs, err)
	}
	var all sync.WaitGroup
	for _, with := range [][]string{nil, {"--tls-ca-file", pem, "--tls-cert", pem, "--tls-key", pem}} {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(h.t.Context(), clusterLimit)
			defer cancel()
			argv := append([]string{"ssh", h.Nodes[2], need.Python(h.t), "-m", "distributed.cli.dask_worker", address, "--no-nanny", "--no-dashboard",
				"--dashboard-address", "127.0.0.1:0", "--name", "stranger", "--death-timeout", "15", "--local-directory", dir}, with...)
			out, err := h.Command(ctx, h.t, slurmworld.Other, argv...).CombinedOutput()
			if ctx.Err() != nil || strings.Contains(string(out), registered) || with != nil && !strings.Contains(string(out), "Start worker at:") {
				h.t.Errorf("a foreign worker with %q: %v\n%s", with, err, out)
			}
		})
	}
	all.Wait()
}

func readAll(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
