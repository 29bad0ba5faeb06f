// Package presets holds the experiment files that esched brings along: the
// documented sample that esched init writes, and ready-made experiments, each at
// a size for a laptop and, with "-cluster" in its name, at the size for which a
// cluster is needed.
//
// It holds texts only; package runners reads them.
package presets
