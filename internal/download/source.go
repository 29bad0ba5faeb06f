package download

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// ErrMissing is wrapped when the source has no such file.
var ErrMissing = errors.New("not found at its source")

// errForbidden is wrapped when the source does not let everybody read a file.
// Object stores that hide their listing also answer so for files they do not
// have.
var errForbidden = errors.New("not readable at its source")

// listBound is the most that a list of checksums may be long.
const listBound = 1 << 20

// Within returns the source of a file within a directory: an http or https URL
// joined with the name, a path otherwise.
func Within(dir, name string) string {
	if !remote(dir) {
		return filepath.Join(dir, name)
	}
	u, err := url.Parse(dir)
	if err != nil {
		return strings.TrimSuffix(dir, "/") + "/" + name // the request will say what is wrong
	}
	u.Path = path.Join(u.Path, name)
	if !strings.HasPrefix(u.Path, "/") {
		u.Path = "/" + u.Path
	}
	return u.String()
}

func remote(source string) bool {
	return strings.HasPrefix(source, "http://") || strings.HasPrefix(source, "https://")
}

// Checksums reads a list as sha256sum writes it: lines with 64 hexadecimal
// digits, spaces, perhaps a star, and a name. It returns them by name, nil when
// the source has no such list, or none that may be read: a list is a courtesy,
// and without it files are only known by their lengths.
func Checksums(ctx context.Context, client *http.Client, source string) (map[string]string, error) {
	body, err := open(ctx, client, source)
	if errors.Is(err, ErrMissing) || errors.Is(err, errForbidden) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer body.Close()
	sums := map[string]string{}
	lines := bufio.NewScanner(io.LimitReader(body, listBound))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		sum, name, _ := strings.Cut(line, " ")
		name = strings.TrimPrefix(strings.TrimSpace(name), "*")
		if b, err := hex.DecodeString(sum); err != nil || len(b) != 32 || name == "" {
			return nil, fmt.Errorf("list of checksums %s: line %q: not a SHA-256 and a name", source, line)
		}
		sums[path.Base(name)] = strings.ToLower(sum)
	}
	return sums, lines.Err()
}

// open returns the content of a small file.
func open(ctx context.Context, client *http.Client, source string) (io.ReadCloser, error) {
	if !remote(source) {
		f, err := os.Open(source)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: %w", source, ErrMissing)
		}
		return f, err
	}
	ctx, cancel := context.WithTimeout(ctx, silence)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, source, nil)
	if err != nil {
		cancel()
		return nil, err
	}
	answer, err := client.Do(request)
	if err != nil {
		cancel()
		return nil, err
	}
	body := &ending{answer.Body, cancel}
	if answer.StatusCode == http.StatusOK {
		return body, nil
	}
	body.Close()
	return nil, fmt.Errorf("%s: %w", source, refusal(answer))
}

// ending is a body that ends its request's context when it is closed.
type ending struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (e *ending) Close() error {
	defer e.cancel()
	return e.ReadCloser.Close()
}
