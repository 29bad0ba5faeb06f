package cmd

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/runners/record"
)

// factsLimit bounds looking at a node: it reads a handful of files, which takes
// many seconds where each new process waits for a busy machine.
const factsLimit = time.Minute

// factsScript prints what the manifest tells of a node, one "key value" a
// line. What a node does not know it leaves out.
const factsScript = `
sed -n 's/^model name[^:]*: */cpu /p' /proc/cpuinfo | head -n 1
echo "cores $(getconf _NPROCESSORS_ONLN)"
sed -n 's/^MemTotal: *\([0-9]*\).*/memory \1/p' /proc/meminfo
echo "kernel $(uname -sr)"
sed -n 's/^PRETTY_NAME="\{0,1\}\([^"]*\)"\{0,1\}$/os \1/p' /etc/os-release
f=/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor
if [ -r $f ]; then echo "governor $(cat $f)"; fi
`

// describeHost asks a node what it is.
func describeHost(ctx context.Context, h deploy.Host) (record.Host, error) {
	ctx, cancel := context.WithTimeout(ctx, factsLimit)
	defer cancel()
	out, err := h.Run(ctx, deploy.Command{Name: "facts", Argv: []string{"/bin/sh", "-c", factsScript}})
	if err != nil {
		return record.Host{Name: h.Name()}, fmt.Errorf("facts of host %s: %w", h.Name(), err)
	}
	return parseFacts(h.Name(), string(out)), nil
}

func parseFacts(name, text string) record.Host {
	host := record.Host{Name: name}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		number, _ := strconv.ParseInt(value, 10, 64) // 0 is "not known"
		switch key {
		case "cpu":
			host.CPU = value
		case "cores":
			host.Cores = int(number)
		case "memory":
			host.MemoryB = number << 10 // /proc/meminfo counts KiB
		case "kernel":
			host.Kernel = value
		case "os":
			host.OS = value
		case "governor":
			host.Governor = value
		}
	}
	return host
}
