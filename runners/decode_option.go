package runners

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/esched/esched/internal/hint"
)

// options reads the options of a kind into a map.
func (t *table) options(params []Parameter) map[string]any {
	var out map[string]any
	for _, p := range params {
		value, path, ok := t.take(p.Name)
		if ok {
			value, ok = t.parameter(p, path, value)
		} else if p.Required {
			t.wrongKey(t.path, "add a line: "+p.Name+" = ...", "%s%s is missing", t.label, p.Name)
		} else if p.Default != nil {
			value, ok = p.Default, true
		}
		if ok {
			if out == nil {
				out = map[string]any{}
			}
			out[p.Name] = value
		}
	}
	return out
}

// parameter checks one value of a parameter and returns it in the
// parameter's type.
func (t *table) parameter(p Parameter, path string, value any) (any, bool) {
	switch p.Type {
	case String:
		return t.textOption(p, path, value)
	case Texts:
		items := listOf(t, p.Name, value, path, func(path, _ string, value any) (string, bool) {
			return t.textOption(p, path, value)
		})
		return items, len(items) > 0
	case Bool:
		b, ok := value.(bool)
		if !ok {
			t.wrongType(path, p.Name, value, Bool)
		}
		return b, ok
	case Duration:
		low, high := time.Duration(p.Min*float64(time.Second)), longest
		if p.Max != 0 {
			high = time.Duration(p.Max * float64(time.Second))
		}
		d, ok := t.checkDuration(path, p.Name, value, low, high)
		return d, ok
	case Int:
		low, high := p.wholeBounds()
		n, ok := t.checkInteger(path, p.Name, value, low, high)
		return n, ok
	}
	f, ok := value.(float64)
	if n, isInt := value.(int64); isInt {
		f, ok = float64(n), true
	}
	if !ok || math.IsNaN(f) || math.IsInf(f, 0) {
		t.wrongType(path, p.Name, value, Float)
		return nil, false
	}
	if high := p.high(); f < p.Min || f > high {
		t.outside(path, p.Name, value, fmt.Sprint(p.Min), fmt.Sprint(high), f < p.Min)
		return nil, false
	}
	return f, true
}

// textOption checks a text, or one text of several.
func (t *table) textOption(p Parameter, path string, value any) (string, bool) {
	s, ok := t.checkText(path, p.Name, value)
	if !ok {
		return "", false
	}
	if p.Choices != nil && !slices.Contains(p.Choices, s) {
		t.wrongValue(path, chooseOne(s, p.Choices), "%sunknown %s %q", t.label, p.Name, s)
		return "", false
	}
	if p.Check == nil {
		return s, true
	}
	if err := p.Check(s); err != nil {
		t.wrongValue(path, hint.Of(err), "%s%s: %v", t.label, p.Name, err)
		return "", false
	}
	return s, true
}

func (p Parameter) high() float64 {
	if p.Max == 0 {
		return math.MaxFloat64
	}
	return p.Max
}

func (p Parameter) wholeBounds() (low, high int64) {
	low, high = int64(p.Min), math.MaxInt64
	if p.Max != 0 && p.Max < math.MaxInt64 {
		high = int64(p.Max)
	}
	return low, high
}
