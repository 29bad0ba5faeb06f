package runners

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/runners/record"
)

// condition holds for a trial when one of the values compares to the trial's
// value of the key as the operator says; with "!=" when all of them differ.
type condition struct {
	key    string
	op     string
	values []any // string, int64 or float64
}

func (c condition) holds(t *record.Trial) bool {
	have := coordinate(t, c.key)
	if have == nil {
		return c.op == "!="
	}
	some := slices.ContainsFunc(c.values, func(want any) bool { return compares(have, c.op, want) })
	if c.op == "!=" {
		return !slices.ContainsFunc(c.values, func(want any) bool { return compares(have, "=", want) })
	}
	return some
}

func compares(have any, op string, want any) bool {
	if _, isText := have.(string); isText || op == "=" && have == want {
		return op == "=" && have == want
	}
	a, okA := number(have)
	b, okB := number(want)
	if !okA || !okB {
		return false
	}
	switch op {
	case "=":
		return a == b
	case "<":
		return a < b
	case "<=":
		return a <= b
	case ">":
		return a > b
	case ">=":
		return a >= b
	}
	return false
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}

func allHold(conditions []condition, t *record.Trial) bool {
	for _, c := range conditions {
		if !c.holds(t) {
			return false
		}
	}
	return true
}

// operators, longer ones first.
var operators = []string{"!=", "<=", ">=", "=", "<", ">"}

// Only returns the part of the plan that an expression selects, in the same
// order; its trials keep their identities. The expression is a list of
// conditions that must all hold, separated by commas:
//
//	workload=montecarlo,scheduler=sidekick,policy=random|earliest-start,workers>=2,repetition=1
//
// A condition is a key, an operator and values. Keys are workload, scheduler,
// kind, policy ("none" for a scheduler without one), nodes, workers (on all
// nodes together), workers_per_node, threads, repetition, and the parameters
// of the workloads. Operators are = and != for texts, and also <, <=, > and
// >= for numbers. Values separated by | are alternatives. Spaces around words
// do not matter.
//
// An expression that cannot be read, names what does not occur in the plan,
// or selects nothing is an error of wrong usage that shows the place.
func (p *Plan) Only(expression string) (*Plan, error) {
	conditions, err := p.parseFilter(expression)
	if err != nil {
		return nil, err
	}
	out := &Plan{Seed: p.Seed, Name: p.Name}
	for _, b := range p.Blocks {
		var kept []record.Trial
		for i := range b.Trials {
			if allHold(conditions, &b.Trials[i]) {
				kept = append(kept, b.Trials[i])
			}
		}
		if len(kept) > 0 {
			b.Trials, b.Warmups = kept, warmupsFor(b.Warmups, kept)
			out.Blocks = append(out.Blocks, b)
		}
	}
	if len(out.Blocks) == 0 {
		err := fmt.Errorf("--only %q: no trial of the plan meets all conditions", expression)
		return nil, hint.WithExit(hint.With(err, "leave out a condition; esched plan shows the trials"), hint.ExitUsage)
	}
	return out, nil
}

// warmupsFor keeps the warm-ups of workloads that still occur, under a policy
// that still does.
func warmupsFor(warmups, trials []record.Trial) []record.Trial {
	var out []record.Trial
	for _, w := range warmups {
		if !slices.ContainsFunc(trials, func(t record.Trial) bool { return t.Workload == w.Workload }) {
			continue
		}
		if !slices.ContainsFunc(trials, func(t record.Trial) bool { return t.Policy == w.Policy }) {
			w.Policy = trials[0].Policy
			w.ID = w.Identity()
		}
		out = append(out, w)
	}
	return out
}

// parseFilter reads an expression and checks it against what occurs.
func (p *Plan) parseFilter(expression string) ([]condition, error) {
	var out []condition
	rest := 0
	for part := range strings.SplitSeq(expression, ",") {
		c, at, err := p.parseCondition(part)
		if err != nil {
			return nil, filterError(expression, rest+at, err)
		}
		out = append(out, c)
		rest += len(part) + 1
	}
	return out, nil
}

// filterError shows the place of a mistake in an expression.
func filterError(expression string, at int, err error) error {
	at = min(at, len(expression))
	shown := fmt.Errorf("--only: position %d: %w\n  %s\n  %s^", at+1, err, printable(expression),
		strings.Repeat(" ", utf8.RuneCountInString(expression[:at])))
	return hint.WithExit(shown, hint.ExitUsage)
}

// parseCondition reads "key op value|value"; on an error it tells its place.
func (p *Plan) parseCondition(part string) (condition, int, error) {
	i := strings.IndexAny(part, "=<>!")
	begin := len(part) - len(strings.TrimLeft(part, " "))
	if i < 0 || strings.TrimSpace(part[:i]) == "" {
		if strings.TrimSpace(part) == "" {
			return condition{}, begin, hint.With(errors.New("condition missing"), "write conditions such as workers>=2, separated by commas")
		}
		return condition{}, begin, hint.With(fmt.Errorf("%q is no condition", strings.TrimSpace(part)), "write a key, an operator and a value, as in workers>=2")
	}
	c := condition{key: strings.TrimSpace(part[:i])}
	for _, op := range operators {
		if strings.HasPrefix(part[i:], op) {
			c.op = op
			break
		}
	}
	if c.op == "" {
		return c, i, hint.With(errors.New("unknown operator"), "use one of: "+strings.Join(operators, " "))
	}
	occurring, keys := p.occurring(c.key)
	if len(occurring) == 0 {
		return c, begin, hint.With(fmt.Errorf("unknown key %q", c.key), chooseOne(c.key, keys))
	}
	at := i + len(c.op)
	for word := range strings.SplitSeq(part[at:], "|") {
		value, err := filterValue(strings.TrimSpace(word), c, occurring)
		if err != nil {
			return c, at + len(word) - len(strings.TrimLeft(word, " ")), err
		}
		c.values = append(c.values, value)
		at += len(word) + 1
	}
	return c, 0, nil
}

// filterValue reads a value; a text must be one that occurs.
func filterValue(word string, c condition, occurring []any) (any, error) {
	if word == "" {
		return nil, hint.With(fmt.Errorf("value of %s missing", c.key), fmt.Sprintf("write it after %q", c.op))
	}
	if _, ok := occurring[0].(string); ok {
		var names []string
		for _, v := range occurring {
			if s, ok := v.(string); ok {
				names = append(names, s)
			}
		}
		if c.op != "=" && c.op != "!=" {
			return nil, hint.With(fmt.Errorf("%s is text and has no order", c.key), "use = or !=")
		}
		if !slices.Contains(names, word) {
			return nil, hint.With(fmt.Errorf("%s %q does not occur in the plan", c.key, word), chooseOne(word, names))
		}
		return word, nil
	}
	plain := strings.ReplaceAll(word, "_", "")
	if n, err := strconv.ParseInt(plain, 10, 64); err == nil {
		return n, nil
	}
	f, err := strconv.ParseFloat(plain, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, hint.With(fmt.Errorf("%q is no number", word), "write a number, as in "+c.key+c.op+fmt.Sprint(occurring[0]))
	}
	return f, nil
}

// occurring returns the values of a key in the plan, in order of appearance,
// and all keys that have some.
func (p *Plan) occurring(key string) (values []any, keys []string) {
	keys = append(slices.Clone(cellKeys), "repetition")
	seen, seenKey := map[any]bool{}, map[string]bool{}
	var params []string
	for _, b := range p.Blocks {
		for i := range b.Trials {
			t := &b.Trials[i]
			for k := range t.Params {
				if !seenKey[k] {
					seenKey[k] = true
					params = append(params, k)
				}
			}
			if v := coordinate(t, key); v != nil && !seen[v] {
				seen[v] = true
				values = append(values, v)
			}
		}
	}
	slices.Sort(params)
	return values, append(keys, params...)
}
