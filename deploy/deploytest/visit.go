package deploytest

import (
	"crypto/tls"
	"io"
	"net"
	"testing"
	"time"

	"github.com/esched/esched/deploy/tlsca"
)

// DaskGreeting is the first message of Dask's protocol: its length, one frame
// and its length, and facts of the sender in MessagePack.
const DaskGreeting = "\x13\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x81\xa1a\x01"

// Disguise is how a visitor encrypts that trusts one authority and shows a
// certificate of another, or none when own is nil, to a server of that name.
func Disguise(t testing.TB, trusted, own *tlsca.Authority, server string) *tls.Config {
	t.Helper()
	issuer := own
	if own == nil {
		issuer = trusted
	}
	id, err := issuer.Issue("visitor", nil, time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	config, err := trusted.Client(id)
	if err != nil {
		t.Fatal(err)
	}
	if own == nil {
		config.Certificates = nil
	}
	config.ServerName = server
	return config
}

// Answers tells whether the other end of a connection answers to a text, through
// TLS when config is not nil. It closes the connection. A TLS server may answer
// an alert, which is none; neither an answer nor an end within the bound is a
// mistake.
func Answers(t testing.TB, conn net.Conn, config *tls.Config, text string, bound time.Duration) bool {
	t.Helper()
	over := time.AfterFunc(bound, func() { conn.Close() }) // connections through ssh have no deadlines
	defer conn.Close()
	stream := conn
	if config != nil {
		stream = tls.Client(conn, config)
	}
	_, _ = io.WriteString(stream, text)
	answer := make([]byte, 8)
	n, _ := io.ReadAtLeast(stream, answer, 1)
	if !over.Stop() {
		t.Errorf("%s: neither an answer nor an end within %v", conn.RemoteAddr(), bound)
	}
	const alert = 0x15 // how TLS takes leave of what is not encrypted
	return n > 0 && answer[0] != alert
}
