package workloads

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"testing"
)

func TestMonteCarlo(t *testing.T) {
	t.Parallel()
	w, found := ByName("montecarlo")
	if !found {
		t.Fatal("no montecarlo")
	}
	for _, test := range []struct {
		simulations, chunk any
		size               string // "" if Check refuses
	}{
		{int64(200_000), int64(100), "2,000 chunks"},
		{json.Number("201"), json.Number("100"), "3 chunks"},
		{int64(100), int64(100), "1 chunk"},
		{int64(70_000_000_000), int64(1_000_000), "70,000 chunks"},
		{int64(100), int64(101), ""},
		{int64(70_000_000_000), int64(100), ""},
		{int64(0), int64(0), ""},
		{1.5, int64(1), ""},
	} {
		params := map[string]any{"simulations": test.simulations, "chunk": test.chunk}
		err := w.Check(params)
		if (err == nil) != (test.size != "") {
			t.Errorf("%v: Check: %v", params, err)
		}
		if err == nil && w.Size(params) != test.size {
			t.Errorf("%v: have %q, want %q", params, w.Size(params), test.size)
		}
	}
}

func TestVerifyPi(t *testing.T) {
	t.Parallel()
	w, _ := ByName("montecarlo")
	params := map[string]any{"simulations": int64(1000), "chunk": int64(10)}
	digest := func(s string) string { sum := sha256.Sum256([]byte(s)); return hex.EncodeToString(sum[:]) }
	for _, test := range []struct {
		result, digest string
		ok             bool
	}{
		{"pi = 3.140000 (785/1000)", digest("785/1000"), true},
		{"pi = 3.140000 (785/1000)", digest("784/1000"), false},
		{"pi = 3.600000 (900/1000)", digest("900/1000"), false},
		{"pi = 3.140000 (1570/2000)", digest("1570/2000"), false},
		{"pi", digest("785/1000"), false},
	} {
		if err := w.Verify(params, test.digest, test.result); (err == nil) != test.ok {
			t.Errorf("%q: %v", test.result, err)
		}
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"esched_client/__init__.py", "esched_client/__main__.py", "esched_workloads/montecarlo.py"} {
		if _, err := fs.Stat(Files(), name); err != nil {
			t.Error(err)
		}
	}
}
