// Package dashboard shows a run while it goes on: as a screen on a terminal
// ([Run]) or as one line an event elsewhere ([Plain]).
//
// Both are views of one [Model], which knows nothing but the events of the
// run (package record) and its manifest: the progress and the remaining
// time, the mean of each series in each cell, the workers and their state,
// what goes on now, and what went wrong. The screen puts one question in each
// of its regions, in the order in which a researcher asks them: is it going
// well, how long still, what do I learn so far, what is it doing, what went
// wrong.
//
// It controls nothing. The keys that stop or cancel call the functions of
// [Control], or, in a view of a run that goes on elsewhere, give its [Orders]
// after asking back; what they do is up to the runner, and shows in its events. It
// never holds the runner up either: events are taken at once, however slow
// the terminal is, and drawn at most four times a second.
package dashboard
