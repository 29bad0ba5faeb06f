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
	// Script is evaluated in the page before the picture; its value, as JSON, is
	// in Page.Value. Optional.
	Script string
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
	Value    json.RawMessage
}

// Chart is what is inside the element of a figure. Shapes counts the paths,
// lines, circles, rectangles and texts of its SVG; Texts are the texts, and
// Clipped those that reach beyond its edge.
type Chart struct {
	Shapes  int      `json:"shapes"`
	Texts   []string `json:"texts"`
	Clipped []string `json:"clipped"`
}

// limit bounds one look: a loaded machine takes seconds to start a browser.
const limit = 90 * time.Second

const survey = `(() => {
	const charts = {};
	document.querySelectorAll('.chart').forEach((box) => {
		const svg = box.querySelector('svg');
		const c = {shapes: 0, texts: [], clipped: []};
		if (svg) {
			const edge = svg.getBoundingClientRect();
			c.shapes = svg.querySelectorAll('path,line,circle,rect,polyline,polygon,text').length;
			svg.querySelectorAll('text').forEach((t) => {
				const r = t.getBoundingClientRect();
				c.texts.push(t.textContent);
				if (r.left < edge.left - 1 || r.right > edge.right + 1 || r.top < edge.top - 1 || r.bottom > edge.bottom + 1) c.clipped.push(t.textContent);
			});
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
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-sync", true))...)
	defer closeBrowser()
	ctx, closeTab := chromedp.NewContext(ctx)
	defer closeTab()
	defer func() { _ = chromedp.Cancel(ctx) }() // waits for the browser's end; what it says of that is nothing to act on

	seen = &Page{}
	var mu sync.Mutex
	chromedp.ListenTarget(ctx, func(event any) {
		mu.Lock()
		defer mu.Unlock()
		seen.observe(event, address)
	})
	var found struct {
		Charts   map[string]Chart `json:"charts"`
		Overflow int              `json:"overflow"`
	}
	steps := chromedp.Tasks{network.Enable(), log.Enable(), runtime.Enable(), look.emulate(), chromedp.Navigate(address), chromedp.WaitReady("body")}
	if look.Script != "" {
		steps = append(steps, chromedp.Evaluate(look.Script, &seen.Value))
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
func remove(profile string) (err error) {
	for range 50 {
		if err = os.RemoveAll(profile); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
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
