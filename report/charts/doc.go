// Package charts turns figures into options for Apache ECharts, by way of
// go-echarts.
//
// The nouns: a [Figure] is everything a figure shows, as numbers and words; an
// axis has a name with a unit; a mark is a point with its interval.
//
// It knows no trials and computes no statistics. Colours are names of CSS
// variables and functions are names of functions in the page's script
// ("esched…"), so that a figure follows the page into dark mode and print and
// no program text is assembled from data.
package charts
