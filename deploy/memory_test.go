package deploy

import (
	"strconv"
	"testing"
)

// TestMemoryLimit looks at what Dask's command line gets: bytes, a word, or a
// fraction of the node, of which all workers together have no more than all.
func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit int64
		want  string
	}{{2_000_000_000, "2000000000"}, {-1, "auto"}} {
		if have := (Spec{WorkersPerNode: 4, MemoryLimit: c.limit}).memoryLimit(); have != c.want {
			t.Errorf("limit %d: want %s, have %s", c.limit, c.want, have)
		}
	}
	for _, workers := range []int{1, 2, 3, 7, 64, 1024} {
		share, err := strconv.ParseFloat(Spec{WorkersPerNode: workers}.memoryLimit(), 64)
		if total := share * float64(workers); err != nil || total > 1.00001 || total < 0.99999 || share > 1 {
			t.Errorf("%d workers have %g each, %g of the node together, %v", workers, share, total, err)
		}
	}
}
