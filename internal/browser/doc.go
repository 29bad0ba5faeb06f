// Package browser opens an HTML file in a headless Chromium and tells what
// happened: errors on the console, requests to the network, shapes drawn.
//
// It is for tests. The browser runs with a profile of its own in a temporary
// directory and is ended with the page. It does not click and does not wait
// for anything but the page's load event and its figures.
package browser
