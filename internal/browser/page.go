package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Look says how to look at a page.
type Look struct {
	// Program is the path of a Chromium or Chrome. Required.
	Program string
	// Width of the window in CSS pixels; 0 is 1280.
	Width int
	// Dark prefers dark colours, Print makes a PDF as well.
	Dark  bool
	Print bool
	// Screenshot asks for a picture of the whole page.
	Screenshot bool
	// Steps are done one after the other before the picture is taken.
	Steps []Step
}

// Page is what was seen.
type Page struct {
	// Errors are exceptions and messages of level error on the console.
	Errors []string
	// Requests are the addresses the page asked for, its own file and data: URLs
	// left out.
	Requests []string
	// Charts has, by the ID of its element, what each figure drew.
	Charts map[string]Chart
	// Overflow is by how many pixels the page is wider than its window.
	Overflow int
	PNG, PDF []byte
	// Answers are the values, as JSON, of the steps that ask.
	Answers []json.RawMessage
}

// Chart is what is inside the element of a figure. Shapes counts the paths,
// lines, circles, rectangles and texts of its SVG; Texts are the texts, and
// Clipped those that reach beyond its edge, and Overlaps the pairs of which one
// covers some of the other. A text that is turned has a box far larger than
// itself, and is in no pair.
type Chart struct {
	Shapes   int         `json:"shapes"`
	Texts    []string    `json:"texts"`
	Clipped  []string    `json:"clipped"`
	Overlaps [][2]string `json:"overlaps"`
}

// limit bounds one look: a loaded machine takes many seconds to start a
// browser, and each of its processes may stand still meanwhile.
const limit = 3 * time.Minute

// goneLimit bounds the wait for the last helper process of a browser.
const goneLimit = time.Minute

const survey = `(() => {
	const charts = {};
	document.querySelectorAll('.chart').forEach((box) => {
		const svg = box.querySelector('svg');
		const c = {shapes: 0, texts: [], clipped: [], overlaps: []};
		if (svg) {
			const edge = svg.getBoundingClientRect(), level = [];
			c.shapes = svg.querySelectorAll('path,line,circle,rect,polyline,polygon,text').length;
			svg.querySelectorAll('text').forEach((t) => {
				const r = t.getBoundingClientRect();
				c.texts.push(t.textContent);
				if (r.left < edge.left - 1 || r.right > edge.right + 1 || r.top < edge.top - 1 || r.bottom > edge.bottom + 1) c.clipped.push(t.textContent);
				const m = t.getCTM(), style = getComputedStyle(t);
				if (r.width > 0 && r.height > 0 && Math.abs(m.b) < 1e-6 && style.visibility === 'visible' && Number(style.opacity) > 0) level.push([t.textContent, r]);
			});
			// The box of a line has some empty pixels above and below its letters.
			const air = 2;
			level.forEach(([a, p], i) => level.slice(i + 1).forEach(([b, q]) => {
				const across = Math.min(p.right, q.right) - Math.max(p.left, q.left), down = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
				if (across > 1 && down > air) c.overlaps.push([a, b]);
			}));
		}
		charts[box.id] = c;
	});
	return {charts, overflow: document.documentElement.scrollWidth - window.innerWidth};
})()`

// Open opens an HTML file and looks at it.
func Open(ctx context.Context, path string, look Look) (seen *Page, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("page %s: %w", path, err)
	}
	profile, err := os.MkdirTemp("", "browser-profile-")
	if err != nil {
		return nil, fmt.Errorf("profile of %s: %w", look.Program, err)
	}
	defer func() {
		if gone := remove(profile); err == nil && gone != nil {
			err = fmt.Errorf("profile of %s: %w", look.Program, gone)
		}
	}()
	address := (&url.URL{Scheme: "file", Path: path}).String()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ctx, closeBrowser := chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(look.Program), chromedp.UserDataDir(profile), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.WSURLReadTimeout(limit), // 20 s are too few for a start on a loaded machine
		// Otherwise clicks and keys that come before the first frame are dropped
		// without a word; a large page is loaded long before it is painted.
		chromedp.Flag("allow-pre-commit-input", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-sync", true))...)
	defer closeBrowser()
	ctx, closeTab := chromedp.NewContext(ctx, chromedp.WithBrowserOption(chromedp.WithDialTimeout(limit))) // else 10 s
	defer closeTab()
	defer func() { _ = chromedp.Cancel(ctx) }() // waits for the browser's end; what it says of that is nothing to act on

	seen = &Page{}
	listening := seen // the result is set to nil on errors, while events still come
	var mu sync.Mutex
	chromedp.ListenTarget(ctx, func(event any) {
		mu.Lock()
		defer mu.Unlock()
		listening.observe(event, address)
	})
	var found struct {
		Charts   map[string]Chart `json:"charts"`
		Overflow int              `json:"overflow"`
	}
	steps := chromedp.Tasks{network.Enable(), log.Enable(), runtime.Enable(), look.emulate(), chromedp.Navigate(address), chromedp.WaitReady("body")}
	for _, s := range look.Steps {
		steps = append(steps, s.action(&seen.Answers))
	}
	steps = append(steps, chromedp.Evaluate(survey, &found))
	if look.Screenshot {
		steps = append(steps, chromedp.FullScreenshot(&seen.PNG, 100))
	}
	if look.Print {
		steps = append(steps, chromedp.ActionFunc(func(ctx context.Context) (err error) {
			seen.PDF, _, err = page.PrintToPDF().WithPrintBackground(false).WithPreferCSSPageSize(true).Do(ctx)
			return err
		}))
	}
	if err := chromedp.Run(ctx, steps); err != nil {
		return nil, fmt.Errorf("page %s in %s: %w", path, look.Program, err)
	}
	mu.Lock()
	defer mu.Unlock()
	seen.Charts, seen.Overflow = found.Charts, found.Overflow
	return seen, nil
}

// remove deletes the profile. Helper processes of a browser that has ended may
// still write to it for a moment.
func remove(profile string) error {
	for end := time.Now().Add(goneLimit); ; time.Sleep(100 * time.Millisecond) {
		if err := os.RemoveAll(profile); err == nil || time.Now().After(end) {
			return err
		}
	}
}

func (l Look) emulate() chromedp.Action {
	width := l.Width
	if width == 0 {
		width = 1280
	}
	scheme := "light"
	if l.Dark {
		scheme = "dark"
	}
	return chromedp.Tasks{
		emulation.SetDeviceMetricsOverride(int64(width), 900, 1, false),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
	}
}

func (p *Page) observe(event any, address string) {
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if u := e.Request.URL; u != address && !strings.HasPrefix(u, "data:") {
			p.Requests = append(p.Requests, u)
		}
	case *runtime.EventExceptionThrown:
		p.Errors = append(p.Errors, e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			var words []string
			for _, a := range e.Args {
				words = append(words, string(a.Value))
			}
			p.Errors = append(p.Errors, strings.Join(words, " "))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError {
			p.Errors = append(p.Errors, e.Entry.Text)
		}
	}
}
