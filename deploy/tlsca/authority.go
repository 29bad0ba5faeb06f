package tlsca

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

const (
	// authorityLife is longer than any run with its waits for nodes; what limits
	// access is the life of an identity.
	authorityLife = 180 * 24 * time.Hour
	// backdate is how far a node's clock may be behind ours: its own certificate
	// must not lie in its future.
	backdate = 24 * time.Hour
)

// Authority issues the certificates of a run. Its methods may be called from
// several goroutines.
type Authority struct {
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
	pool        *x509.CertPool
}

// New makes an authority with a new key. now is the present time.
func New(now time.Time) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("certificate authority: key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber:          serial(),
		Subject:               pkix.Name{CommonName: "esched run " + rand.Text()[:8]},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(authorityLife),
		IsCA:                  true,
		MaxPathLenZero:        true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("certificate authority: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("certificate authority: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(certificate)
	return &Authority{key: key, certificate: certificate, pool: pool}, nil
}

// serial is a random number of 127 bits, which no other certificate has.
func serial() *big.Int {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[0] &= 0x7f
	return new(big.Int).SetBytes(b[:])
}

// PEM is the authority's certificate, by which its identities are recognised.
// It is no secret.
func (a *Authority) PEM() []byte { return encode("CERTIFICATE", a.certificate.Raw) }

// Identity is a certificate with its private key.
type Identity struct {
	// PEM holds the certificate followed by the key. It is a secret.
	PEM []byte
}

// Issue makes the identity of what is reached under the addresses (IP
// addresses or host names), valid for life from now.
func (a *Authority) Issue(name string, addresses []string, now time.Time, life time.Duration) (Identity, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Identity{}, fmt.Errorf("certificate of %s: key: %w", name, err)
	}
	template := &x509.Certificate{
		SerialNumber: serial(),
		Subject:      pkix.Name{CommonName: commonName(name)},
		NotBefore:    now.Add(-backdate),
		NotAfter:     now.Add(life),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, address := range addresses {
		if ip := net.ParseIP(address); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, address)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return Identity{}, fmt.Errorf("certificate of %s: %w", name, err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Identity{}, fmt.Errorf("certificate of %s: key: %w", name, err)
	}
	return Identity{PEM: append(encode("CERTIFICATE", der), encode("PRIVATE KEY", secret)...)}, nil
}

// commonName shortens a name to what the field holds. Nobody decides by it.
func commonName(name string) string {
	const most = 64
	return name[:min(len(name), most)]
}

func encode(kind string, der []byte) []byte {
	var b bytes.Buffer
	_ = pem.Encode(&b, &pem.Block{Type: kind, Bytes: der}) // a buffer takes everything
	return b.Bytes()
}

// Client is the configuration for connections of the identity's owner to
// others that the authority vouches for.
func (a *Authority) Client(id Identity) (*tls.Config, error) {
	own, err := tls.X509KeyPair(id.PEM, id.PEM)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: a.pool, Certificates: []tls.Certificate{own}}, nil
}
