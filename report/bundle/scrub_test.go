package bundle

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestScrubText(t *testing.T) {
	t.Parallel()
	key := "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1r+/ZXk\nAAAA==\n-----END OPENSSH PRIVATE KEY-----"
	tests := []struct{ name, text, want, what string }{
		{"home", "in /home/ada/runs/a and /home/bob", "in ~/runs/a and ~", "home directory"},
		{"home below another", "/cm/home1/ada/x", "~/x", "home directory"},
		{"macOS", "/Users/ada/x", "~/x", "home directory"},
		{"one's own home", "/var/people/ada/x:/var/people/adams", "~/x:/var/people/adams", "home directory"},
		{"root's", `File "/root/.cache/x", /root`, `File "~/.cache/x", ~`, "home directory"},
		{"not root's", "/opt/root/x /rootfs /root-x ~/root/y", "/opt/root/x /rootfs /root-x ~/root/y", ""},
		{"scratch", "TMP=/local/ada/x /scratch/ada", "TMP=/local/user/x /scratch/user", "user name"},
		{"login", "ssh ada@node001 (nada@x)", "ssh user@node001 (nada@x)", "user name"},
		{"a policy of that name", "sidekick/ada", "sidekick/ada", ""},
		{"key", "x " + key + " y", "x [removed] y", "private key"},
		{"key with written line ends", strings.ReplaceAll(key, "\n", `\n`), "[removed]", "private key"},
		{"first half of a key", key[:60] + "\n[7 bytes were left out here]", "[removed][7 bytes were left out here]", "private key"},
		{"second half of a key", "ok: AAAA\n-----END RSA PRIVATE KEY-----", "ok:[removed]", "private key"},
		{"token", "use ghp_abcdefghijklmnopqrstuvwx0123", "use [removed]", "token"},
		{"web token", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-_x", "[removed]", "token"},
		{"environment", "HF_TOKEN=abcdef AWS_SECRET_ACCESS_KEY='xyzw1'", "HF_TOKEN=[removed] AWS_SECRET_ACCESS_KEY='[removed]'", "secret value"},
		{"settings", `password = "hunter2"`, `password = "[removed]"`, "secret value"},
		{"header", "Authorization: Bearer abc.def", "Authorization: [removed]", "secret value"},
		{"bearer", "sent Bearer abcdef.012", "sent Bearer [removed]", "secret value"},
		{"flag", "run --api-key abcdef --x", "run --api-key [removed] --x", "secret value"},
		{"address", "https://ada:pw1234@example.org/x", "https://ada:[removed]@example.org/x", "password in an address"},
		{"no secrets", "tokens 5, task-0123456789abcdef0123456789, secrets of the trade; disk-based", "tokens 5, task-0123456789abcdef0123456789, secrets of the trade; disk-based", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newScrubber("/var/people/ada", "ada")
			if have := s.text("f", test.text); have != test.want {
				t.Errorf("have %q, want %q", have, test.want)
			}
			all := s.removals()
			if (len(all) > 0) != (test.what != "") || len(all) > 0 && all[0].What != test.what {
				t.Errorf("removals: have %+v, want %q", all, test.what)
			}
			if have := s.text("f", test.want); have != test.want {
				t.Errorf("a scrubbed text is scrubbed again: have %q", have)
			}
		})
	}
}

func TestScrubJSON(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"value", `{"path": "/home/ada/x", "n": 1}`, `{"path": "~/x", "n": 1}`},
		{"key", `{"/home/ada/x": 1}`, `{"~/x": 1}`},
		{"secret by its key", `{"auth_token" : "x", "token":"", "tokens":"many", "n":2}`, `{"auth_token" : "[removed]", "token":"", "tokens":"many", "n":2}`},
		{"no string behind a secret key", `{"token":12345, "a":"b", "password":{"c":"d"}, "secret":null,"e":"f"}`, `{"token":12345, "a":"b", "password":{"c":"d"}, "secret":null,"e":"f"}`},
		{"a text in a string", `{"experiment":"password = \"hunter2\"\nx"}`, `{"experiment":"password = \"[removed]\"\nx"}`},
		{"a torn line", "{\"a\":1}\n{\"a\":\"/home/ada/x", "{\"a\":1}\n{\"a\":\"~/x"},
		{"numbers and order", `{"z":9007199254740993,"a":[1.50,{"b":"<&>"}]}`, `{"z":9007199254740993,"a":[1.50,{"b":"<&>"}]}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newScrubber("", "")
			for range 2 { // the second time, clean strings are known
				if have := string(s.json("f", []byte(test.text))); have != test.want {
					t.Errorf("have %s, want %s", have, test.want)
				}
			}
		})
	}
}

// TestScrubKeepsStructure scrubs JSON of any shape: what comes out is JSON of
// the same shape, with no secret in it.
func TestScrubKeepsStructure(t *testing.T) {
	t.Parallel()
	texts := []string{"x", "", `quoted "x"`, "/home/ada/a b", `C:\x`, "token: abcdef", "Bearer abcdefgh12", "ghp_abcdefghijklmnopqrstuvwx0123", "\u00e9<\n\t>"}
	rapid.Check(t, func(rt *rapid.T) {
		var grow func(depth int) any
		grow = func(depth int) any {
			kind := rapid.IntRange(0, 5).Draw(rt, "kind")
			if depth == 0 {
				kind %= 3
			}
			switch kind {
			case 0:
				return rapid.SampledFrom(texts).Draw(rt, "text")
			case 1:
				return rapid.Float64Range(-1e9, 1e9).Draw(rt, "number")
			case 2:
				return nil
			case 3:
				list := []any{}
				for range rapid.IntRange(0, 3).Draw(rt, "length") {
					list = append(list, grow(depth-1))
				}
				return list
			}
			object := map[string]any{}
			for i := range rapid.IntRange(0, 3).Draw(rt, "members") {
				object[rapid.SampledFrom([]string{"a", "token", "password", "my_secret"}).Draw(rt, "key")+fmt.Sprint(i)[:i%2]] = grow(depth - 1)
			}
			return object
		}
		want := grow(3)
		data, err := json.Marshal(want)
		if err != nil {
			rt.Fatal(err)
		}
		s := newScrubber("", "")
		after := s.json("f", data)
		var have any
		if err := json.Unmarshal(after, &have); err != nil {
			rt.Fatalf("%s became %s: %v", data, after, err)
		}
		if shape(have) != shape(want) {
			rt.Fatalf("%s became %s", data, after)
		}
		if again := s.json("f", after); !reflect.DeepEqual(again, after) {
			rt.Fatalf("%s became %s the second time", after, again)
		}
		for _, secret := range []string{"/home/ada", "abcdefgh12", "ghp_", ": abcdef"} {
			if strings.Contains(string(after), secret) {
				rt.Fatalf("%s still has %q", after, secret)
			}
		}
	})
}

// shape is the structure of a value without its strings.
func shape(v any) string {
	switch v := v.(type) {
	case string:
		return "s"
	case []any:
		text := "["
		for _, x := range v {
			text += shape(x)
		}
		return text + "]"
	case map[string]any:
		return fmt.Sprint("{", len(v), "}")
	}
	return fmt.Sprint(v)
}
