package deploy_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/internal/need"
)

// BenchmarkProgress measures what a question how far Dask is costs Dask's
// scheduler with 64 workers and 200 kinds of task: its CPU time for each, to be
// held against the second between two of them.
func BenchmarkProgress(b *testing.B) {
	modules, err := filepath.Abs("../workloads/python")
	if err != nil {
		b.Fatal(err)
	}
	dir := short(b)
	spec := plain(dir, need.Python(b))
	spec.Instant, spec.WorkersPerNode, spec.PythonPath = true, 64, modules
	d, err := deploy.Start(b.Context(), hosts(b, dir, "a"), spec)
	if err != nil {
		b.Fatal(err)
	}
	defer d.Stop(b.Context())
	p, err := d.Driver(b.Context(), deploy.Command{
		Name: "driver", Argv: []string{spec.Python, "-c", kinds, d.Addr()}, Log: filepath.Join(dir, "driver.log"),
	})
	if err != nil {
		b.Fatal(err)
	}
	<-p.Done()
	if p.Err() != nil {
		b.Fatal(p.Err())
	}
	o := d.Observer()
	defer o.Close()
	before, err := d.Scheduler().CPU()
	if err != nil {
		b.Fatal(err)
	}
	begin := time.Now()
	for b.Loop() {
		if _, err := o.Progress(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	wall := time.Since(begin)
	after, err := d.Scheduler().CPU()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64((after-before).Microseconds())/float64(b.N), "scheduler-µs/op")
	b.ReportMetric(100*(after-before).Seconds()/wall.Seconds(), "scheduler-%cpu")
}

const kinds = `
import sys
from distributed import Client
with Client(sys.argv[1], timeout=300) as c:
    for i in range(200):
        c.submit(abs, -i, key=f"kind{chr(97 + i // 26)}{chr(97 + i % 26)}-{i}").result()
`
