// Package presets holds the experiment files that esched brings along: the
// documented sample that esched init writes, and ready-made experiments.
//
// It holds texts only; package runners reads them.
package presets
