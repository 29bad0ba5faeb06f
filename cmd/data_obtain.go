package cmd

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/workloads"
)

// headerLimit bounds the wait for a server's first answer; dialing has bounds
// of its own.
const headerLimit = 30 * time.Second

// obtain makes a data set complete below dir.
func (g *globals) obtain(ctx context.Context, p workloads.Provider, dir string, options map[string]any, env string,
	progress func(workloads.Progress)) error {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = headerLimit
	defer transport.CloseIdleConnections()
	tool := &dataPython{globals: g, env: env, progress: progress}
	defer tool.close()
	err := p.Obtain(ctx, workloads.Obtain{
		Dir: dir, Options: options, HTTP: &http.Client{Transport: transport}, Python: tool.run, Progress: progress,
	})
	if err == nil {
		return nil
	}
	err = fmt.Errorf("data set %s: %w", p.Name, err)
	if hint.Of(err) == "" && isFull(err) {
		return hint.With(err, "free space, or choose another directory with --dir; what is complete is kept")
	}
	return err
}
