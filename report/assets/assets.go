// Package assets holds the files that a report carries inside itself: the
// page's template, style and script, and Apache ECharts with its licences.
//
// ECharts is the unmodified dist/echarts.min.js of the npm package echarts
// 6.1.0. It is pinned: its major versions change how figures look.
package assets

import _ "embed"

// EChartsVersion is the version of the embedded library.
const EChartsVersion = "6.1.0"

// ECharts is the library, EChartsSHA256 what it must hash to.
//
//go:embed echarts.min.js
var ECharts string

// EChartsSHA256 is the hash of ECharts, in hexadecimal.
const EChartsSHA256 = "b66b25aeb4df84e33199dc21694014d336d222cbd9deb0e5a7c14bd6aa0d0fd0"

// EChartsNotice is the notice that has to go with copies of ECharts,
// EChartsLicence its licence, D3Licence that of the parts of d3 in it.
//
//go:embed echarts-NOTICE
var EChartsNotice string

// EChartsLicence is the Apache License 2.0 with the subcomponents' section.
//
//go:embed echarts-LICENSE
var EChartsLicence string

// D3Licence is the licence of the parts of d3 that ECharts contains.
//
//go:embed echarts-LICENSE-d3
var D3Licence string

// Page is the html/template of the report, Style its CSS, Script its
// JavaScript.
//
//go:embed page.tmpl
var Page string

// Compare is that of a comparison.
//
//go:embed compare.tmpl
var Compare string

// Shared has the templates of what both pages are made of.
//
//go:embed shared.tmpl
var Shared string

// Style is the report's style sheet.
//
//go:embed report.css
var Style string

// Script draws the figures and makes tables sortable.
//
//go:embed report.js
var Script string
