package browser

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Step is one thing that a person does to a page, or one question to it. One
// field is set; Into goes with Type.
type Step struct {
	// Click is a CSS selector: the first element it finds is scrolled into view
	// and clicked with the mouse.
	Click string
	// Type is written with the keyboard into the element Into, whose text it
	// replaces; Enter presses that key where the focus is.
	Type, Into string
	Enter      bool
	// Ask is an expression in JavaScript. Its value, as JSON, is appended to
	// [Page.Answers].
	Ask string
}

// action makes a step into what the browser does.
func (s Step) action(answers *[]json.RawMessage) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		var err error
		name := s.Click + s.Into
		switch {
		case s.Click != "":
			err = chromedp.Click(s.Click, chromedp.ByQuery, chromedp.NodeVisible).Do(ctx)
		case s.Into != "":
			err = chromedp.Tasks{
				chromedp.Focus(s.Into, chromedp.ByQuery),
				chromedp.Evaluate("document.activeElement.select()", nil),
				chromedp.KeyEvent(s.Type),
			}.Do(ctx)
		case s.Enter:
			name, err = "Enter", chromedp.KeyEvent(kb.Enter).Do(ctx)
		default:
			var answer json.RawMessage
			name, err = s.Ask, chromedp.Evaluate(s.Ask, &answer).Do(ctx)
			*answers = append(*answers, answer)
		}
		if err != nil {
			return fmt.Errorf("step %q: %w", name, err)
		}
		return nil
	})
}
