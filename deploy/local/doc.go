// Package local is the deploy.Host of the machine esched runs on.
//
// A [Host] starts each command under a guard process and places files with
// ordinary file operations. It knows nothing about reservations; two Hosts
// with different names may stand for two nodes on one machine.
package local
