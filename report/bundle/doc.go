// Package bundle packs a run into one archive that holds what somebody needs
// who is to judge it: the data, the report, how it was made, and what was
// claimed.
//
// The nouns: a [Source] says what to pack and for whom; a [Bundle] is the files
// of an archive, by name; a [Removal] tells of something that was in the run
// and is not in the bundle, such as a secret or the path of a home directory; a
// [Check] is what looking into an archive found.
//
// The same run, packed by the same esched, gives the same bytes. Everything in
// an archive is text, timelines of tasks being compressed text; nothing in it is
// ever executed or followed, and nothing of it is written outside of the
// directory given.
//
// It does not judge results, does not publish anything, and finds only secrets
// that look like secrets: read removed.json and the logs before you hand out a
// bundle.
package bundle
