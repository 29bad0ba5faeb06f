package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/esched/esched/internal/hint"
)

// note is the name of the file that says which version a part is of.
func note(part string) string { return part + ".version" }

func forget(part string) error {
	if err := os.Remove(note(part)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// version is what a server tells a file's content by: a strong entity tag or
// the time of its last change; "" when there is neither.
func version(h http.Header) string {
	if tag := h.Get("ETag"); tag != "" && !strings.HasPrefix(tag, "W/") {
		return tag
	}
	return h.Get("Last-Modified")
}

// request makes one request for what a part lacks. It returns the number of
// bytes that it brought. Errors wrap errFinal when another request would fare no
// better.
func request(ctx context.Context, client *http.Client, source, part string, progress func(done, total int64)) (int64, error) {
	to, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errFinal, err)
	}
	got, err := into(ctx, client, source, to, progress)
	return got, settle(to, err)
}

func into(ctx context.Context, client *http.Client, source string, to *os.File, progress func(done, total int64)) (int64, error) {
	have, err := to.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errFinal, err)
	}
	known, err := os.ReadFile(note(to.Name()))
	if err != nil || len(known) == 0 {
		have = 0 // of what is there nobody knows what it is
	}
	ctx, watch := overseen(ctx)
	defer watch.end()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, source, nil)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errFinal, err)
	}
	r.Header.Set("Accept-Encoding", "identity") // or lengths would be those of what is packed
	if have > 0 {
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
		r.Header.Set("If-Range", string(known))
	}
	answer, err := client.Do(r)
	if err != nil {
		return 0, watch.reason(err)
	}
	defer answer.Body.Close()
	total, err := begin(answer, to, &have)
	if err != nil {
		return 0, err
	}
	got, err := pour(ctx, to, watch.reader(answer.Body), have, total, progress)
	if err == nil && total > 0 && have+got != total {
		err = fmt.Errorf("%d bytes of %d arrived: %w", have+got, total, io.ErrUnexpectedEOF)
	}
	return got, watch.reason(err)
}

// begin looks at an answer and puts the file where it continues. It returns the
// whole length, 0 when the server does not tell.
func begin(answer *http.Response, to *os.File, have *int64) (int64, error) {
	var total int64
	switch answer.StatusCode {
	case http.StatusPartialContent:
		var first, last int64
		if _, err := fmt.Sscanf(answer.Header.Get("Content-Range"), "bytes %d-%d/%d", &first, &last, &total); err != nil || first != *have {
			return 0, errors.Join(fmt.Errorf("range %q, not from byte %d", answer.Header.Get("Content-Range"), *have), discard(to.Name()))
		}
	case http.StatusOK: // whole: there was nothing, or there is another version
		*have = 0
		total = max(answer.ContentLength, 0)
	case http.StatusRequestedRangeNotSatisfiable:
		return 0, errors.Join(errors.New("the server has less than is there"), discard(to.Name()))
	default:
		return 0, refusal(answer)
	}
	err := to.Truncate(*have)
	if err == nil {
		_, err = to.Seek(*have, io.SeekStart)
	}
	if err == nil {
		err = os.WriteFile(note(to.Name()), []byte(version(answer.Header)), 0o644)
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errFinal, err)
	}
	return total, nil
}

// refusal is the error of an answer that is none. What a server may answer
// otherwise the next time is not final.
func refusal(answer *http.Response) error {
	err := fmt.Errorf("the server answers %s", answer.Status)
	switch code := answer.StatusCode; {
	case code == http.StatusNotFound || code == http.StatusGone:
		err = fmt.Errorf("%w (%w)", ErrMissing, err)
	case code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code >= 500:
		return err
	case code == http.StatusForbidden || code == http.StatusUnauthorized:
		err = fmt.Errorf("%w (%w)", errForbidden, err)
		err = hint.With(err, "look whether the address is right (some servers answer so for what they do not have) and may be read without a login")
	}
	return fmt.Errorf("%w: %w", errFinal, err)
}

// overseer ends a request that is silent.
type overseer struct {
	cancel context.CancelCauseFunc
	ctx    context.Context
	timer  *time.Timer
}

// errSilent is why an overseer ends a request.
var errSilent = fmt.Errorf("no byte for %v", silence)

func overseen(ctx context.Context) (context.Context, *overseer) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &overseer{cancel, ctx, time.AfterFunc(silence, func() { cancel(errSilent) })}
}

func (o *overseer) end() {
	o.timer.Stop()
	o.cancel(nil)
}

// reason is the cause of an error that ended the request.
func (o *overseer) reason(err error) error {
	if err != nil && errors.Is(context.Cause(o.ctx), errSilent) {
		return errSilent
	}
	return err
}

// reader is body, each byte of which is a sign of life.
func (o *overseer) reader(body io.Reader) io.Reader { return alive{body, o.timer} }

type alive struct {
	io.Reader
	timer *time.Timer
}

func (a alive) Read(b []byte) (int, error) {
	n, err := a.Reader.Read(b)
	if n > 0 {
		a.timer.Reset(silence)
	}
	return n, err
}
