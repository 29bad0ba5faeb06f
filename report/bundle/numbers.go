package bundle

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// tolerance is the relative difference up to which numbers count as equal:
// another processor may round the last digits in another way.
const tolerance = 1e-9

// differ compares decoded JSON: everything that the packed one has. What only
// the new one has comes from a newer esched and is no difference.
type differ struct {
	numbers int
	found   []string
}

func (d *differ) compare(at string, packed, made any) {
	switch p := packed.(type) {
	case float64:
		d.numbers++
		if m, ok := made.(float64); !ok || math.Abs(p-m) > tolerance*max(math.Abs(p), math.Abs(m)) {
			d.found = append(d.found, fmt.Sprintf("%s: packed %v, computed %v", at, p, show(made)))
		}
	case map[string]any:
		m, ok := made.(map[string]any)
		if !ok {
			d.found = append(d.found, fmt.Sprintf("%s: not computed", at))
			return
		}
		for _, k := range slices.Sorted(maps.Keys(p)) {
			d.compare(at+"."+k, p[k], m[k])
		}
	case []any:
		m, ok := made.([]any)
		if !ok && len(p) > 0 || len(m) != len(p) {
			d.found = append(d.found, fmt.Sprintf("%s: packed %d, computed %d", at, len(p), len(m)))
			return
		}
		for i := range p {
			d.compare(fmt.Sprintf("%s[%d]", at, i), p[i], m[i])
		}
	case nil:
		if _, ok := made.(float64); ok {
			d.found = append(d.found, fmt.Sprintf("%s: packed without a value, computed %v", at, made))
		}
	}
}

// tables compares the tables with the same ID.
func (d *differ) tables(packed, made any) {
	byID := func(v any) map[string]any {
		found := make(map[string]any)
		list, _ := v.([]any) // no list: no tables
		for _, t := range list {
			if table, ok := t.(map[string]any); ok {
				if id, ok := table["id"].(string); ok {
					found[id] = table["rows"]
				}
			}
		}
		return found
	}
	p, m := byID(packed), byID(made)
	for _, id := range slices.Sorted(maps.Keys(p)) {
		d.compare("table "+id, p[id], m[id])
	}
}

func show(v any) any {
	if v == nil {
		return "nothing"
	}
	return v
}
