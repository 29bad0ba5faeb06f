package charts

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"testing"
)

type vec [3]float64

type matrix [3]vec

func (m matrix) times(v vec) (out vec) {
	for i, row := range m {
		out[i] = row[0]*v[0] + row[1]*v[1] + row[2]*v[2]
	}
	return out
}

// visions turn linear sRGB into what is seen of it, at full severity. Source:
// Machado, Oliveira and Fernandes, A Physiologically-based Model for Simulation
// of Color Vision Deficiency, IEEE TVCG 15(6), 2009, table 1.
var visions = map[string]matrix{
	"normal": {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia": {
		{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998},
	},
	"deuteranopia": {
		{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881},
	},
	"tritanopia": {
		{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900},
	},
}

// xyz turns linear sRGB into CIE XYZ (D65), as IEC 61966-2-1 has it.
var xyz = matrix{{0.4124564, 0.3575761, 0.1804375}, {0.2126729, 0.7151522, 0.0721750}, {0.0193339, 0.1191920, 0.9503041}}

// linear is a colour "#rrggbb" in linear sRGB.
func linear(t *testing.T, hex string) (out vec) {
	t.Helper()
	for i := range out {
		n, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = float64(n) / 255
		if out[i] <= 0.04045 {
			out[i] /= 12.92
		} else {
			out[i] = math.Pow((out[i]+0.055)/1.055, 2.4)
		}
	}
	return out
}

// lab is linear sRGB in CIE 1976 L*a*b*.
func lab(rgb vec) vec {
	for i := range rgb {
		rgb[i] = min(max(rgb[i], 0), 1)
	}
	f := xyz.times(rgb)
	for i, white := range (vec{0.95047, 1, 1.08883}) {
		f[i] /= white
		if f[i] > 0.008856 {
			f[i] = math.Cbrt(f[i])
		} else {
			f[i] = 7.787*f[i] + 16.0/116
		}
	}
	return vec{116*f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])}
}

func distance(a, b vec) float64 {
	return math.Hypot(math.Hypot(a[0]-b[0], a[1]-b[1]), a[2]-b[2])
}

// contrast is the ratio of WCAG 2.1.
func contrast(a, b vec) float64 {
	hi, lo := xyz.times(a)[1]+0.05, xyz.times(b)[1]+0.05
	return max(hi, lo) / min(hi, lo)
}

// TestColoursAreToldApart by whoever sees two kinds of light instead of three,
// on the page, dark and light, and on paper.
func TestColoursAreToldApart(t *testing.T) {
	t.Parallel()
	const (
		leastDistance = 18 // in L*a*b*; 2.3 is just noticeable side by side
		leastContrast = 3  // WCAG 2.1, 1.4.11, for graphics
	)
	css, err := os.ReadFile("../assets/report.css")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`--(paper|s[0-7]): (#[0-9a-f]{6})`).FindAllStringSubmatch(string(css), -1)
	const colours = 9 // the page and eight series
	if len(found) != 3*colours {
		t.Fatalf("want three palettes of %d colours in the style, have %d colours", colours, len(found))
	}
	palettes := map[string]map[string]string{"paper": {}}
	for i, f := range found {
		name := []string{"light", "dark", "print"}[i/colours]
		if palettes[name] == nil {
			palettes[name] = map[string]string{}
		}
		palettes[name][f[1]] = f[2]
	}
	for variable := range palettes["light"] {
		palettes["paper"][variable] = OnPaper("--" + variable)
	}
	for name, p := range palettes {
		if len(p) != colours {
			t.Fatalf("%s: want %d colours, have %v", name, colours, p)
		}
		for i := range colours - 1 {
			a := linear(t, p[fmt.Sprintf("s%d", i)])
			if c := contrast(a, linear(t, p["paper"])); c < leastContrast {
				t.Errorf("%s: s%d has a contrast of %.2f to the page, want %v", name, i, c, leastContrast)
			}
			for j := range i {
				b := linear(t, p[fmt.Sprintf("s%d", j)])
				for vision, m := range visions {
					if d := distance(lab(m.times(a)), lab(m.times(b))); d < leastDistance {
						t.Errorf("%s: s%d and s%d are %.1f apart with %s, want %v", name, j, i, d, vision, leastDistance)
					}
				}
			}
		}
	}
}
