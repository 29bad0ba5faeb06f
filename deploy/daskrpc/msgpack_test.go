package daskrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"reflect"
	"testing"

	"github.com/esched/esched/internal/need"
)

// TestDecode reads what the library that Dask uses has written.
func TestDecode(t *testing.T) {
	t.Parallel()
	const script = `
import sys, msgpack
long = list(range(70000))
sys.stdout.buffer.write(msgpack.packb({
    "numbers": [0, 127, 128, 255, 256, 65535, 65536, 2**32 - 1, 2**32, 2**63, -1, -32, -33, -128, -129, -32769, -2**31, -2**63, 1.5, -1e300],
    "texts": ["", "a" * 31, "b" * 32, "c" * 255, "d" * 256, "e" * 65536],
    "constants": [None, True, False],
    "bytes": [b"x", b"y" * 300, b"z" * 70000],
    "extensions": [msgpack.ExtType(5, b"a" * n) for n in (1, 2, 3, 4, 8, 16, 300)],
    "lists": [[1] * 15, [2] * 16, long],
    "tables": [{str(i): i for i in range(16)}, {str(i): i for i in range(70000)}],
    ("tuple", 1): 7,
}, use_bin_type=True))
`
	text, err := exec.Command(need.Python(t), "-c", script).Output()
	if err != nil {
		t.Fatal(err)
	}
	value, err := decode(text)
	if err != nil {
		t.Fatal(err)
	}
	have := value.(map[string]any)
	numbers := "[0 127 128 255 256 65535 65536 4294967295 4294967296 9223372036854775808 -1 -32 -33 -128 -129 -32769 -2147483648 -9223372036854775808 1.5 -1e+300]"
	if text := fmt.Sprint(have["numbers"]); text != numbers {
		t.Errorf("numbers: want %s, have %s", numbers, text)
	}
	lengths := func(list any) (n []int) {
		for _, v := range list.([]any) {
			n = append(n, reflect.ValueOf(v).Len())
		}
		return n
	}
	for name, want := range map[string][]int{
		"texts": {0, 31, 32, 255, 256, 65536}, "bytes": {1, 300, 70000}, "extensions": {2, 3, 4, 5, 9, 17, 301},
		"lists": {15, 16, 70000}, "tables": {16, 70000},
	} {
		if have := lengths(have[name]); !reflect.DeepEqual(have, want) {
			t.Errorf("lengths of %s: want %v, have %v", name, want, have)
		}
	}
	if want := []any{nil, true, false}; !reflect.DeepEqual(have["constants"], want) {
		t.Errorf("constants: want %v, have %v", want, have["constants"])
	}
	if have["[tuple 1]"] != int64(7) {
		t.Errorf("a key that is a tuple: have %v", have["[tuple 1]"])
	}
}

// TestEncode has the library that Dask uses read what is written here.
func TestEncode(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(need.Python(t), "-c", "import sys, json, msgpack; print(json.dumps(msgpack.unpackb(sys.stdin.buffer.read())))")
	want := map[string]any{"a": nil, "b": true, "c": false, "d": []any{3.0, -1.0}, "e": map[string]any{"f": "text"}}
	cmd.Stdin = bytes.NewReader(encode(nil, map[string]any{
		"a": nil, "b": true, "c": false, "d": []any{3, -1}, "e": map[string]any{"f": "text"},
	}))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var have map[string]any
	if err := json.Unmarshal(out, &have); err != nil || !reflect.DeepEqual(have, want) {
		t.Errorf("want %v, have %v, %v", want, have, err)
	}
}

// FuzzMessage feeds what any listener might say.
func FuzzMessage(f *testing.F) {
	f.Add(frame(encode(nil, map[string]any{"op": "identity", "list": []any{1, nil}})))
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
	f.Add(frame([]byte{0xdd, 0xff, 0xff, 0xff, 0xff}))
	f.Add(frame(bytes.Repeat([]byte{0x91}, 1000)))
	f.Fuzz(func(t *testing.T, text []byte) {
		body, err := readFrame(bytes.NewReader(text))
		if err != nil {
			return
		}
		if len(body) > len(text) {
			t.Error("more than there was")
		}
		_, _ = decode(body)
	})
}
