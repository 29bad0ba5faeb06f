package workloads

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/esched/esched/internal/need"
)

// sqlProgram asks a query of a small table in three partitions.
const sqlProgram = `
import dask.dataframe as dd
import pandas as pd
from esched_workloads import sql

trips = pd.DataFrame({"zone": ["a", "b", "a", "c", "b", "a"], "fare": [1, 2, 3, 4, 5, 6]})
c = sql.context()
c.create_table("trips", dd.from_pandas(trips, npartitions=3))
query = "SELECT zone, SUM(fare) AS total FROM trips WHERE fare > 1 GROUP BY zone ORDER BY zone"
print(c.sql(query).compute().to_csv(index=False), end="")
`

// TestSQL executes dask-sql in each pinned environment: it is no longer
// maintained, so that a version of Dask or pandas beside it may break it
// without anybody telling.
func TestSQL(t *testing.T) {
	t.Parallel()
	modules, err := filepath.Abs("python")
	if err != nil {
		t.Fatal(err)
	}
	const want = "zone,total\na,9\nb,7\nc,4\n"
	for name, interpreter := range map[string]func(testing.TB) string{"default": need.Python, "dask-2024.5": need.OldPython} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), pythonLimit)
			defer cancel()
			c := exec.CommandContext(ctx, interpreter(t), "-c", sqlProgram)
			c.Env, c.Dir, c.Stderr = append(os.Environ(), "PYTHONPATH="+modules), t.TempDir(), os.Stderr
			out, err := c.Output()
			if err != nil {
				t.Fatal(err)
			}
			if string(out) != want {
				t.Errorf("want %q, have %q", want, out)
			}
		})
	}
}
