package main

import "strings"

// table is a Markdown table whose first columns are words and whose others are
// numbers.
type table struct{ b strings.Builder }

func newTable(words int, head ...string) *table {
	t := &table{}
	t.add(head...)
	t.b.WriteString("|" + strings.Repeat(" --- |", words) + strings.Repeat(" ---: |", len(head)-words) + "\n")
	return t
}

func (t *table) add(cells ...string) { t.b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }

// String returns the table, which ends with a line end.
func (t *table) String() string { return t.b.String() }
