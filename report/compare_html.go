package report

import (
	"fmt"
	"io"

	"github.com/esched/esched/report/assets"
)

// comparePage is what the template is given.
type comparePage struct {
	*Comparison
	furniture
	Figures []htmlFigure
	Tables  []htmlTable
}

// WriteHTML writes the comparison as one HTML file that needs nothing but
// itself.
func (c *Comparison) WriteHTML(w io.Writer) error {
	p, err := c.page()
	if err == nil {
		err = writePage(w, assets.Compare, p)
	}
	if err != nil {
		return fmt.Errorf("comparison as HTML: %w", err)
	}
	return nil
}

func (c *Comparison) page() (*comparePage, error) {
	furniture, figures, err := furnish("comparison", c.figures, c.Table)
	if err != nil {
		return nil, err
	}
	p := &comparePage{Comparison: c, furniture: furniture, Figures: figures}
	for _, f := range figures {
		p.Contents = append(p.Contents, link{"section-" + f.ID, f.Group})
	}
	for _, id := range comparedTables {
		if t := c.Table(id); len(t.Rows) > 0 {
			p.Tables = append(p.Tables, newHTMLTable(t, ""))
		}
	}
	p.align(p.Tables)
	p.Contents = append(p.Contents, link{"tables", "Numbers"}, link{"measured", "How it was compared"})
	return p, nil
}
