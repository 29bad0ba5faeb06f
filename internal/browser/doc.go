// Package browser opens an HTML file in a headless Chromium and tells what
// happened: errors on the console, requests to the network, shapes drawn.
//
// The nouns: a [Look] says how to open a page and which [Step]s to do on it
// with mouse and keyboard, a [Page] is what was seen, a [Chart] what is inside
// one of its figures.
//
// It is for tests. The browser runs with a profile of its own in a temporary
// directory and is ended with the page. It waits for nothing but the page's
// load event: a page that draws later has to be asked by a step.
package browser
