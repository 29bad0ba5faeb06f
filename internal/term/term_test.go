package term

import (
	"os"
	"testing"

	"github.com/creack/pty"
)

func env(pairs ...string) Lookup {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(name string) (string, bool) { v, ok := m[name]; return v, ok }
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	type answers struct {
		color, unicode bool
		shade          Shade
	}
	tests := []struct {
		name string
		env  Lookup
		want answers
	}{
		{"nothing set", env(), answers{true, false, Unknown}},
		{"modern", env("TERM", "xterm-256color", "LANG", "en_GB.UTF-8"), answers{true, true, Unknown}},
		{"no colour", env("NO_COLOR", "1", "LANG", "C.utf8"), answers{false, true, Unknown}},
		{"empty NO_COLOR allows colour", env("NO_COLOR", ""), answers{true, false, Unknown}},
		{"our own switch", env("ESCHED_NO_COLOR", "yes"), answers{false, false, Unknown}},
		{"kernel console", env("TERM", "linux", "LANG", "en_GB.UTF-8"), answers{true, false, Unknown}},
		{"dumb", env("TERM", "dumb", "LANG", "en_GB.UTF-8"), answers{false, false, Unknown}},
		{"LC_ALL wins", env("LC_ALL", "C", "LANG", "en_GB.UTF-8"), answers{true, false, Unknown}},
		{"LC_CTYPE before LANG", env("LC_ALL", "", "LC_CTYPE", "de_DE.UTF-8", "LANG", "C"), answers{true, true, Unknown}},
		{"dark", env("COLORFGBG", "15;0"), answers{true, false, Dark}},
		{"dark, three parts", env("COLORFGBG", "7;default;8"), answers{true, false, Dark}},
		{"light", env("COLORFGBG", "0;15"), answers{true, false, Light}},
		{"light grey", env("COLORFGBG", "0;7"), answers{true, false, Light}},
		{"nonsense", env("COLORFGBG", "0;default"), answers{true, false, Unknown}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			have := answers{Color(tt.env), Unicode(tt.env), Background(tt.env)}
			if have != tt.want {
				t.Errorf("have %+v, want %+v", have, tt.want)
			}
		})
	}
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	if err := pty.Setsize(slave, &pty.Winsize{Cols: 97, Rows: 31}); err != nil {
		t.Fatal(err)
	}
	if !IsTerminal(slave) {
		t.Error("a pseudo-terminal is not seen as a terminal")
	}
	if w, h, err := Size(slave); w != 97 || h != 31 || err != nil {
		t.Errorf("have %d x %d, %v, want 97 x 31", w, h, err)
	}

	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if IsTerminal(file) {
		t.Error("/dev/null is seen as a terminal")
	}
	if _, _, err := Size(file); err == nil {
		t.Error("/dev/null has a size")
	}
}
