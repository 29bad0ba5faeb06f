package tlsca_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"testing"
	"time"

	"github.com/esched/esched/deploy/tlsca"
)

func authority(t *testing.T) *tlsca.Authority {
	t.Helper()
	a, err := tlsca.New(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func issue(t *testing.T, a *tlsca.Authority, life time.Duration) tlsca.Identity {
	t.Helper()
	id, err := a.Issue("node001", []string{"127.0.0.1", "node001"}, time.Now(), life)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// serve answers connections of those whom a vouches for, as Dask does.
func serve(t *testing.T, a *tlsca.Authority, id tlsca.Identity) string {
	t.Helper()
	config, err := a.Client(id)
	if err != nil {
		t.Fatal(err)
	}
	config = &tls.Config{Certificates: config.Certificates, ClientCAs: config.RootCAs, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS13}
	l, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.WriteString(c, "welcome")
			}()
		}
	}()
	return l.Addr().String()
}

func TestOnlyOwnIdentitiesConnect(t *testing.T) {
	t.Parallel()
	own, foreign := authority(t), authority(t)
	address := serve(t, own, issue(t, own, time.Hour))
	expired := serve(t, own, issue(t, own, -time.Minute))
	for _, c := range []struct {
		name    string
		trusted *tlsca.Authority // by the client
		id      tlsca.Identity   // of the client
		address string
		want    bool
	}{
		{"own", own, issue(t, own, time.Hour), address, true},
		{"foreign client", own, issue(t, foreign, time.Hour), address, false},
		{"foreign server", foreign, issue(t, own, time.Hour), address, false},
		{"expired client", own, issue(t, own, -time.Minute), address, false},
		{"expired server", own, issue(t, own, time.Hour), expired, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			config, err := c.trusted.Client(c.id)
			if err != nil {
				t.Fatal(err)
			}
			conn, err := tls.DialWithDialer(&net.Dialer{Timeout: time.Minute}, "tcp", c.address, config)
			var have []byte
			if err == nil {
				defer conn.Close()
				_ = conn.SetDeadline(time.Now().Add(time.Minute))
				have, _ = io.ReadAll(conn) // in TLS 1.3 a refusal comes with the first answer
			}
			if c.want != (string(have) == "welcome") {
				t.Errorf("welcome: want %v, have %q, %v", c.want, have, err)
			}
		})
	}
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	a := authority(t)
	id := issue(t, a, time.Hour)
	block, rest := pem.Decode(id.PEM)
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if certificate.IsCA || certificate.VerifyHostname("127.0.0.1") != nil || certificate.VerifyHostname("node001") != nil {
		t.Errorf("want a certificate of node001 and 127.0.0.1, have %v, %v", certificate.DNSNames, certificate.IPAddresses)
	}
	if left := time.Until(certificate.NotAfter); left > time.Hour {
		t.Errorf("validity: want at most an hour, have %v", left)
	}
	if key, _ := pem.Decode(rest); key == nil || key.Type != "PRIVATE KEY" {
		t.Error("want the key after the certificate")
	}
	if bytes.Contains(a.PEM(), []byte("PRIVATE")) {
		t.Error("the authority's certificate comes with a key")
	}
}
