package sidekick

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// counts are what faults.py tells.
type counts struct {
	Ready, Running, Right bool
	Status                string
	Error                 string
	Seconds               float64
	Decisions, Fallbacks  int
	Misses, Reattached    int
	Mirror                struct {
		Active                          bool
		Tasks, IDs, Hints, Mates, Bytes int
	}
}

// patience bounds the waits of the fault tests.
const patience = 90 * time.Second

// driver talks to faults.py.
type driver struct {
	t   *testing.T
	in  io.Writer
	out *json.Decoder
}

// drive starts faults.py and waits until its workers are there.
func drive(t *testing.T, c *cluster) *driver {
	t.Helper()
	script, err := filepath.Abs("testdata/python/faults.py")
	if err != nil {
		t.Fatal(err)
	}
	cmd := c.command(script, c.file, c.dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(c.dir, "client.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stderr = log
	launch(t, cmd)
	watchdog := time.AfterFunc(8*time.Minute, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	t.Cleanup(func() { watchdog.Stop() })
	d := &driver{t, in, json.NewDecoder(bufio.NewReader(out))}
	d.read()
	return d
}

func (d *driver) read() counts {
	d.t.Helper()
	var c counts
	if err := d.out.Decode(&c); err != nil {
		d.t.Fatalf("client: %v", err)
	}
	return c
}

func (d *driver) ask(command string) counts {
	d.t.Helper()
	if _, err := fmt.Fprintln(d.in, command); err != nil {
		d.t.Fatal(err)
	}
	return d.read()
}

// begin waits until the service decides and counts from there.
func (d *driver) begin() {
	d.t.Helper()
	var last counts
	err := within(patience, "begin", func() bool {
		last = d.ask("begin")
		return last.Status == "OK"
	})
	if err != nil {
		d.t.Fatalf("%v: %s", err, last.Error)
	}
}

// graph runs a graph, with a fault in its middle, and checks what holds after
// every fault: the right result, soon, and nothing left over.
func (d *driver) graph(n int, fault func()) counts {
	d.t.Helper()
	if c := d.ask(fmt.Sprintf("graph %d", n)); !c.Running {
		d.t.Fatalf("want the graph running, have %+v", c)
	}
	if fault != nil {
		fault()
	}
	d.ask("open 1")
	d.ask("open 2")
	c := d.ask("finish")
	d.t.Logf("%+v", c)
	if !c.Right || c.Seconds > 90 {
		d.t.Errorf("right: %v, after %.1f s", c.Right, c.Seconds)
	}
	if m := c.Mirror; m.Tasks != 0 || m.IDs != 0 || m.Hints != 0 || m.Mates > 4 || m.Bytes > 1<<16 {
		d.t.Errorf("the mirror holds %+v", m)
	}
	return c
}

// decides waits for a graph of which esched decides nearly all. A machine that
// stands still for longer than the deadline costs a graph some decisions, not
// all of them.
func (d *driver) decides() {
	d.t.Helper()
	var last counts
	err := within(patience, "esched's decisions", func() bool {
		d.begin()
		last = d.graph(60, nil)
		return last.Mirror.Active && last.Decisions >= 100
	})
	if err != nil {
		d.t.Errorf("%v: %+v", err, last)
	}
}

// until polls the counts.
func (d *driver) until(what string, condition func(counts) bool) {
	d.t.Helper()
	var last counts
	err := within(patience, what, func() bool {
		last = d.ask("status")
		return condition(last)
	})
	if err != nil {
		d.t.Errorf("%v: %+v", err, last)
	}
}

// daemon starts a service in a process of its own.
func daemon(t *testing.T, mode, socket string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serviceVariable+"="+mode+" "+socket)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	launch(t, cmd)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("%s service: %q, %v", mode, line, err)
	}
	return cmd
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
}

func send(t *testing.T, cmd *exec.Cmd, s syscall.Signal) {
	t.Helper()
	if err := cmd.Process.Signal(s); err != nil {
		t.Error(err)
	}
}

// TestFaults lets one deployment meet every kind of bad service, one after
// another. Each costs time, none the result.
func TestFaults(t *testing.T) {
	t.Parallel()
	interpreters(t, func(t *testing.T, python string) {
		top := t // what a step starts may outlive it
		c := newCluster(t, python, clusterOptions{impatient: true})
		d := drive(t, c)
		step := func(name string, test func(t *testing.T)) {
			if !t.Run(name, func(t *testing.T) {
				old := d.t
				d.t = t
				defer func() { d.t = old }()
				test(t)
			}) {
				t.FailNow()
			}
		}
		var service *exec.Cmd
		step("absent at the start", func(t *testing.T) {
			if got := d.graph(60, nil); got.Mirror.Active || got.Decisions != 0 || got.Fallbacks < 121 {
				t.Errorf("want 121 fallbacks or more, have %+v", got)
			}
		})
		service = daemon(t, "honest", c.socket)
		step("appears", func(t *testing.T) {
			d.decides()
		})
		step("killed and started again in mid-graph", func(t *testing.T) {
			d.begin()
			got := d.graph(400, func() {
				kill(t, service)
				d.ask("open 1")
				d.until("fallbacks", func(c counts) bool { return c.Fallbacks > 0 })
				service = daemon(top, "honest", c.socket)
				d.until("attachment", func(c counts) bool { return c.Mirror.Active })
			})
			if got.Fallbacks == 0 || got.Reattached == 0 || got.Decisions < 50 {
				t.Errorf("want decisions, fallbacks and an attachment, have %+v", got)
			}
		})
		step("stopped in mid-graph", func(t *testing.T) {
			d.begin()
			if got := d.graph(200, func() { send(t, service, syscall.SIGSTOP) }); got.Fallbacks == 0 || got.Misses > 10 {
				t.Errorf("want fallbacks and few missed deadlines, have %+v", got)
			}
		})
		step("continued", func(t *testing.T) {
			send(t, service, syscall.SIGCONT)
			d.decides()
		})
		step("killed", func(t *testing.T) {
			d.begin()
			if got := d.graph(200, func() { kill(t, service) }); got.Fallbacks == 0 || got.Mirror.Active {
				t.Errorf("want fallbacks, have %+v", got)
			}
		})
		for _, mode := range []string{"garbage", "babbling", "mistaken", "mute", "closing", "silent"} {
			service = daemon(t, mode, c.socket)
			step(mode, func(t *testing.T) {
				if mode != "closing" && mode != "silent" {
					d.begin()
				}
				before := d.ask("status")
				if got := d.graph(100, nil); got.Fallbacks == before.Fallbacks {
					t.Errorf("want fallbacks, have %+v", got)
				}
			})
			kill(t, service)
		}
		service = daemon(t, "honest", c.socket)
		step("honest again", func(t *testing.T) {
			d.decides()
		})
		c.quiet(t)
	})
}

// TestFaultWithoutQueue kills the service where Dask has no queue of its own:
// what esched had queued goes to workers at once.
func TestFaultWithoutQueue(t *testing.T) {
	t.Parallel()
	interpreters(t, func(t *testing.T, python string) {
		c := newCluster(t, python, clusterOptions{
			impatient: true, env: []string{"DASK_DISTRIBUTED__SCHEDULER__WORKER_SATURATION=inf"},
		})
		service := daemon(t, "honest", c.socket)
		d := drive(t, c)
		d.begin()
		if got := d.graph(200, func() { kill(t, service) }); got.Fallbacks == 0 || got.Decisions == 0 || got.Mirror.Active {
			t.Errorf("want decisions, then fallbacks, have %+v", got)
		}
		c.quiet(t)
	})
}
