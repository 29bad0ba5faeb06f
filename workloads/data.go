package workloads

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
)

// Provider obtains a data set that workloads read: it downloads, copies or
// generates it. Its functions may be called concurrently for different
// directories.
type Provider struct {
	// Name of the data set, as in "esched data taxi"; Doc is one line for lists.
	Name string
	Doc  string
	// Describe tells more, in a few lines: schema, source, licence, sizes.
	Describe string
	// Params are the options, which become flags of the command: a Param "rows"
	// is --rows. None is Required; those without a Default may be left out.
	Params []Param
	// Status says whether what the options ask for is complete below dir. It
	// looks at names, sizes, times and a note of the provider's own, not at every
	// byte of files that look untouched.
	// A missing directory is no error.
	Status func(ctx context.Context, dir string, options map[string]any) (DataStatus, error)
	// Obtain makes it complete, keeping what is there. It stops soon after ctx is
	// done, and leaves what a later call continues with.
	Obtain func(ctx context.Context, o Obtain) error
}

// DataStatus says what there is of a data set.
type DataStatus struct {
	// Present tells that it is complete, Path where: what trials find as the
	// parameter "data".
	Present bool   `json:"present"`
	Path    string `json:"path"`
	// Detail says how much there is, or what is missing: "12 files, 1.2 GB".
	Detail string `json:"detail"`
	Bytes  int64  `json:"bytes"`
	// Quick tells that what is missing can be made without network and within a
	// few minutes, so that a run that needs it makes it by itself.
	Quick bool `json:"quick"`
}

// Obtain asks a provider for a data set.
type Obtain struct {
	// Dir is the absolute directory of this data set; it may not exist yet.
	Dir string
	// Options are the values of the provider's Params, defaults filled in.
	Options map[string]any
	// HTTP makes requests; it has no overall time limit, so that each request
	// needs a bound on silence.
	HTTP *http.Client
	// Python runs a module of [Files] ("-m module args...") with the pinned
	// packages until it ends. Its standard output goes to stdout; an error
	// carries the end of its standard error. nil: there is no Python.
	Python func(ctx context.Context, stdout io.Writer, module string, args ...string) error
	// Progress takes how far it is, as often as one likes, from one goroutine at
	// a time. Never nil.
	Progress func(Progress)
}

// Progress is how far something long has come.
type Progress struct {
	// What is being done: "yellow_tripdata_2014-03.parquet", "generate".
	What string
	// Done of Total, in Unit ("B" for bytes, "rows"); Total is 0 while unknown.
	Done, Total int64
	Unit        string
}

// Where data come from: the option "source" of providers is sourceGenerated, or
// a directory or URL; with the parameter "source" of workloads it is said
// whether they read generated data or those published.
const (
	sourceGenerated = "generated"
	sourcePublished = "published"
)

// checksumList is the list of checksums beside published files, as sha256sum
// writes it.
const checksumList = "SHA256SUMS"

// Providers returns the data sets that esched knows, sorted by name.
func Providers() []Provider {
	return []Provider{
		expedia(),
		taxi(),
	}
}

// ProviderByName returns a provider, or false when there is none of that name.
func ProviderByName(name string) (Provider, bool) {
	all := Providers()
	i := slices.IndexFunc(all, func(p Provider) bool { return p.Name == name })
	if i < 0 {
		return Provider{}, false
	}
	return all[i], true
}

// Defaults returns the options of a provider that have a default value.
func (p Provider) Defaults() map[string]any { return defaults(p.Params) }

func defaults(params []Param) map[string]any {
	values := map[string]any{}
	for _, p := range params {
		if p.Default != nil {
			values[p.Name] = p.Default
		}
	}
	return values
}

// Accept says what is wrong with a value of the parameter: an int64, float64
// or string by its type.
func (p Param) Accept(value any) error {
	var number float64
	switch v := value.(type) {
	case int64:
		number = float64(v)
		if p.Type != Int {
			return fmt.Errorf("%v is no %s", value, p.Type)
		}
	case float64:
		number = v
		if p.Type != Float || math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%v is no %s", value, p.Type)
		}
	case string:
		if p.Type != String {
			return fmt.Errorf("%q is no %s", v, p.Type)
		}
		if p.Choices != nil && !slices.Contains(p.Choices, v) {
			return fmt.Errorf("%q is none of %s", v, strings.Join(p.Choices, ", "))
		}
		return nil
	default:
		return fmt.Errorf("%v is no %s", value, p.Type)
	}
	if number < p.Min || p.Max != 0 && number > p.Max {
		return fmt.Errorf("%v is not within %v and %v", value, p.Min, p.Max)
	}
	return nil
}
