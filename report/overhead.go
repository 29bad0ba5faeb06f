package report

import (
	"cmp"
	"fmt"

	"github.com/esched/esched/report/charts"
	"github.com/esched/esched/runners/record"
)

// overhead is what a trial costs besides its tasks, in seconds, as means over
// the trials of a cell. They overlap one another and the tasks.
type overhead struct {
	service, dask         float64 // CPU of esched's service and of Dask's scheduler
	hit, ask              float64 // the event loop's waits: for what was there, for answers
	most                  float64 // its waits at most, where only their distribution is known
	queue, deploy, warmup float64 // a trial's share of its block
	tasks                 float64
}

// overheadOf adds up the costs of a cell; ok tells that any is known.
func (b *builder) overheadOf(c *Cell, inBlock map[[2]int]int) (o overhead, ok bool) {
	for _, rec := range c.records {
		o.service += rec.ServiceCPUS
		o.dask += rec.SchedulerCPUS
		o.hit += rec.HitS
		o.ask += rec.AskS
		if rec.HitS+rec.AskS == 0 {
			for _, bucket := range rec.DecisionHist {
				o.most += bucket.LeUS * float64(bucket.Count) / 1e6
			}
		}
		share := float64(max(inBlock[[2]int{b.runOf[rec], rec.Block}], 1))
		o.queue += rec.QueueS / share
		o.deploy += rec.DeployS / share
		o.warmup += rec.WarmupS / share
		o.tasks += float64(rec.Tasks)
	}
	n := float64(len(c.records))
	if n == 0 {
		return o, false
	}
	for _, v := range []*float64{&o.service, &o.dask, &o.hit, &o.ask, &o.most, &o.queue, &o.deploy, &o.warmup, &o.tasks} {
		*v /= n
	}
	return o, o.running()+o.queue+o.deploy+o.warmup > 0
}

// wait is what Dask's event loop spent on decisions.
func (o overhead) wait() float64 { return o.hit + o.ask + o.most }

// running is what a trial costs while it runs.
func (o overhead) running() float64 { return o.service + o.dask + o.wait() }

// trialsInBlocks counts the measured trials of each run's blocks.
func (b *builder) trialsInBlocks() map[[2]int]int {
	n := make(map[[2]int]int)
	for _, rec := range b.records {
		n[[2]int{b.runOf[rec], rec.Block}]++
	}
	return n
}

func (b *builder) overheadTable() Table {
	t := Table{ID: TableOverhead, Title: "What a trial costs besides its tasks", Columns: append(conditionColumns(),
		Column{"series", "Series", FormatText}, Column{"service_cpu_s", "CPU of esched's service (s)", FormatSeconds},
		Column{"hit_s", "Looking up decisions (s)", FormatSeconds}, Column{"ask_s", "Asking for decisions (s)", FormatSeconds}, Column{"wait_s", "Waits in all (s)", FormatSeconds},
		Column{"dask_s", "CPU of Dask's scheduler (s)", FormatSeconds}, Column{"per_task_us", "CPU a task (µs)", FormatMicros},
		Column{"queue_s", "Queue (s)", FormatSeconds}, Column{"deploy_s", "Deployment (s)", FormatSeconds}, Column{"warmup_s", "Warm-up (s)", FormatSeconds}, paramsColumn(),
	), Note: "Means of the trials; CPU times run beside the tasks. The service mirrors Dask's state, decides ahead and answers, which its CPU time is for together. Waits are what Dask's event loop spent on decisions: looking up those made ahead, and asking for others, which is transport and the service's answer in one (of older records only the sum is known, at most, from the distribution of latencies). Queue, deployment and warm-up happen once for a deployment and are divided among its trials; they are no part of makespans."}
	inBlock := b.trialsInBlocks()
	for _, c := range b.cells {
		o, ok := b.overheadOf(c, inBlock)
		if !ok {
			continue
		}
		var perTask, hit, ask any
		if o.tasks > 0 && o.service+o.dask > 0 {
			perTask = (o.service + o.dask) / o.tasks * 1e6
		}
		if o.most == 0 {
			hit, ask = o.hit, o.ask
		}
		t.add(append(c.Condition.values(), c.Series, o.service, hit, ask, o.wait(), o.dask, perTask, o.queue, o.deploy, o.warmup, c.Params)...)
	}
	return t
}

// stack is a part of a stacked bar.
type stack struct {
	name  string
	value float64
}

// addStack puts a bar made of parts into the row at the end of a figure.
func addStack(f *charts.Figure, row string, parts []stack, format Format) (total float64) {
	y := float64(len(f.Y.Categories))
	f.Y.Categories = append(f.Y.Categories, row)
	for i, p := range parts {
		if len(f.Marks) <= i {
			f.Marks = append(f.Marks, charts.Mark{Series: p.name, Color: charts.Part(i), Shape: charts.Bars})
		}
		if !(p.value > 0) {
			continue
		}
		f.Marks[i].Point = append(f.Marks[i].Point, charts.Point{X: total, Y: y, To: new(total + p.value),
			Name: fmt.Sprintf("%s, %s: %s s", row, p.name, number(format, p.value))})
		total += p.value
	}
	for i := len(f.Marks) - 1; i >= 0; i-- { // the last part that is drawn bears the sum
		if n := len(f.Marks[i].Point); n > 0 && f.Marks[i].Point[n-1].Y == y {
			f.Marks[i].Point[n-1].Label = number(format, total) + " s"
			break
		}
	}
	return total
}

// drawn leaves out marks without points.
func drawn(marks []charts.Mark) []charts.Mark {
	var all []charts.Mark
	for _, m := range marks {
		if len(m.Point) > 0 {
			all = append(all, m)
		}
	}
	return all
}

// overheadFigure splits what the main condition costs besides its tasks.
func (b *builder) overheadFigure() *charts.Figure {
	main := b.mainCondition()
	if main < 0 {
		return nil
	}
	f := &charts.Figure{ID: "overhead", X: charts.Axis{Name: "cost of a trial (s)"}, Y: charts.Axis{Name: "scheduler and policy"}}
	inBlock := b.trialsInBlocks()
	highest := 0.0
	var dearest string
	for s, series := range b.series {
		c := b.cell(main, s)
		if c == nil || !b.shows(s) {
			continue
		}
		o, ok := b.overheadOf(c, inBlock)
		if !ok || o.running() == 0 {
			continue
		}
		f.N += c.N
		total := addStack(f, series.Name, []stack{
			{"CPU of esched's service", o.service}, {"looking up decisions", o.hit}, {"asking for decisions (transport and answer)", o.ask}, {"CPU of Dask's scheduler", o.dask},
			{"queue", o.queue}, {"deployment", o.deploy}, {"warm-up", o.warmup}, {"waits for decisions (at most)", o.most},
		}, FormatSeconds)
		if total > highest {
			highest, dearest = total, series.Name
		}
	}
	if f.Marks = drawn(f.Marks); len(f.Marks) == 0 {
		return nil
	}
	f.X.Max = charts.NiceMax(highest)
	f.Title = fmt.Sprintf("A trial on %s costs up to %s s besides its tasks (%s)", b.conditions[main].what(), number(FormatSeconds, highest), dearest)
	f.Aid = "Means. Looking up and asking are waits of Dask's event loop. CPU times and waits run beside the tasks, so they are no shares of the makespan; queue, deployment and warm-up are a trial's share of its deployment. Beside: the sum."
	f.Alt = fmt.Sprintf("Stacked costs of a trial for %d series. %s.", len(f.Y.Categories), f.Title)
	return f
}

// clocks is where the time of a run went, in seconds.
type clocks struct {
	run                                              string
	blocks, trials                                   int
	queue, deploy, warmup, running, makespan, beside float64
	// wall is the time from start to end; 0 when the end is not known.
	wall float64
}

// idle is what no clock tells.
func (c clocks) idle() float64 {
	return max(0, c.wall-c.queue-c.deploy-c.warmup-c.running)
}

// clocksOf adds up the clocks of each run that has records. Those of a block
// are in each of its records and count once.
func (b *builder) clocksOf() []clocks {
	var all []clocks
	for i, run := range b.runs {
		c := clocks{run: cmp.Or(run.Manifest.ID, run.Dir, "unnamed run")}
		blocks := make(map[int]*record.Record)
		for _, rec := range b.records {
			if b.runOf[rec] != i {
				continue
			}
			c.trials++
			c.running += rec.RunS
			if rec.Status == record.StatusOK {
				c.makespan += rec.MakespanS
			}
			if blocks[rec.Block] == nil {
				blocks[rec.Block] = rec
				c.queue, c.deploy, c.warmup = c.queue+rec.QueueS, c.deploy+rec.DeployS, c.warmup+rec.WarmupS
			}
		}
		c.blocks = len(blocks)
		c.beside = max(0, c.running-c.makespan)
		if m := run.Manifest; m.Sessions <= 1 && m.Ended.After(m.Started) && !m.Started.IsZero() {
			c.wall = m.Ended.Sub(m.Started).Seconds()
		}
		if c.blocks > 0 {
			all = append(all, c)
		}
	}
	return all
}

// clockTable adds up where the time of each run went.
func (b *builder) clockTable() Table {
	t := Table{ID: TableClocks, Title: "Where the time went", Columns: []Column{
		{"run", "Run", FormatText}, {"blocks", "Deployments", FormatCount}, {"queue_s", "Waiting for nodes (s)", FormatSeconds}, {"deploy_s", "Deploying (s)", FormatSeconds},
		{"warmup_s", "Warm-up (s)", FormatSeconds}, {"run_s", "Trials (s)", FormatSeconds}, {"makespan_s", "of it makespans (s)", FormatSeconds},
		{"idle_s", "Rest (s)", FormatSeconds}, {"wall_s", "In all (s)", FormatSeconds},
	}, Note: "Waiting, deploying and warming up happen once for each deployment and are no part of any makespan. The rest is preparation, ending deployments and pauses; it is not known of runs that did not end or were resumed."}
	for _, c := range b.clocksOf() {
		var idle, wall any
		if c.wall > 0 {
			idle, wall = c.idle(), c.wall
		}
		t.add(c.run, c.blocks, c.queue, c.deploy, c.warmup, c.running, c.makespan, idle, wall)
	}
	return t
}

// clockFigure shows where the time of each run went.
func (b *builder) clockFigure() *charts.Figure {
	f := &charts.Figure{ID: "clocks", X: charts.Axis{Name: "time (s)"}, Y: charts.Axis{Name: "run"}}
	highest, makespan, sum := 0.0, 0.0, 0.0
	all := b.clocksOf()
	for _, c := range all[max(0, len(all)-maxRows):] {
		total := addStack(f, c.run, []stack{
			{"makespans", c.makespan}, {"trials beside makespans", c.beside}, {"warm-up", c.warmup}, {"deploying", c.deploy}, {"waiting for nodes", c.queue}, {"rest", c.idle()},
		}, FormatSeconds)
		f.N += c.trials
		highest = max(highest, total)
		makespan, sum = makespan+c.makespan, sum+total
	}
	if f.Marks = drawn(f.Marks); len(f.Marks) == 0 || !(sum > 0) {
		return nil
	}
	f.X.Max = charts.NiceMax(highest)
	f.Title = fmt.Sprintf("Makespans are %s %% of the %s s that are accounted for", number(FormatPercent, makespan/sum), number(FormatSeconds, sum))
	f.Aid = "Trials beside makespans are preparing, verifying, failed attempts and forgetting. The rest is what no clock tells. Beside: the sum."
	f.Alt = fmt.Sprintf("Stacked clocks of %s. %s.", plural(len(f.Y.Categories), "run"), f.Title)
	return f
}
