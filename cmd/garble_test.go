package cmd

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
)

// garbled makes "esched serve" of the test binary a service that begins
// honestly, since Dask has to trust the service before it can be deceived, and
// goes on with garbage when the file is there that the variable names.
const garbled = "ESCHED_TEST_GARBLED"

// garble puts itself between Dask and the true service, which it runs on
// another socket. It returns the service's exit code.
func garble(p Process) int {
	i := slices.Index(p.Args, "--socket") + 1
	if i == 0 || i == len(p.Args) {
		fmt.Fprintln(p.Stderr, "no socket to garble")
		return 1
	}
	front, back := p.path(p.Args[i]), p.path(p.Args[i])+"-true"
	listener, err := net.Listen("unix", front) // before the service says that it is ready
	if err != nil {
		fmt.Fprintln(p.Stderr, err)
		return 1
	}
	defer listener.Close()
	file := p.env(garbled)
	lying := func() bool {
		_, err := p.stat(file)
		return err == nil
	}
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				if err := relay(c, back, lying); err != nil {
					fmt.Fprintln(p.Stderr, "relay:", err)
				}
			}()
		}
	}()
	p.Args = slices.Clone(p.Args)
	p.Args[i] = back
	return Main(p)
}

// relay passes what Dask says, and replies until it is to lie, as they are.
func relay(dask net.Conn, service string, lying func() bool) error {
	s, err := net.Dial("unix", service)
	if err != nil {
		return err
	}
	defer s.Close()
	go func() {
		_, _ = io.Copy(s, dask) // ends with either of them
		_ = s.Close()
	}()
	chance := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 4096)
	for {
		size, err := s.Read(b)
		if err != nil {
			return nil // Dask hung up
		}
		if lying() {
			for i := range size {
				b[i] = byte(chance.Uint32())
			}
		}
		if _, err := dask.Write(b[:size]); err != nil {
			return nil // likewise
		}
	}
}
