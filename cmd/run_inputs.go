package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/esched/esched/runners"
)

// inputsDir is the directory of a run with the files that parameters of its
// workloads name, as they were when it ran: each in a directory named by the
// digest that its trials have.
const inputsDir = "inputs"

// keepInputs copies the files that parameters name into the run directory, so
// that who reads the run later finds what was executed.
func (s *session) keepInputs() error {
	kept := map[string]bool{}
	for _, t := range s.plan.Planned() {
		w, ok := s.workload(t.Workload)
		if !ok || w.Text == nil || kept[t.Program] {
			continue
		}
		kept[t.Program] = true
		params := s.located(w, s.experiment.Path)(t.Params)
		for _, param := range w.Params {
			name, _ := params[param.Name].(string)
			if !param.File || name == "" {
				continue
			}
			text, err := s.programText(name)
			if err != nil {
				return fmt.Errorf("workload %s: %s: %w", w.Name, param.Name, err)
			}
			dir := filepath.Join(s.dir, inputsDir, t.Program)
			if err := s.mkdirAll(dir, 0o755); err != nil {
				return fmt.Errorf("%w: %w", runners.ErrStore, err)
			}
			err = s.createFile(filepath.Join(dir, filepath.Base(name)), text)
			if err != nil && !errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("%w: %w", runners.ErrStore, err)
			}
		}
	}
	return nil
}
