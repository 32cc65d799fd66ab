package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// guardedNode is a NATS server that asks for TLS and credentials.
func guardedNode(t *testing.T) (url, creds, ca string) {
	t.Helper()
	certificate, ca := certificate(t)
	operator, account := newKey(t, nkeys.CreateOperator), newKey(t, nkeys.CreateAccount)
	user := newKey(t, nkeys.CreateUser)
	accountClaims := jwt.NewAccountClaims(account.public)
	accountClaims.Limits.JetStreamLimits = jwt.JetStreamLimits{DiskStorage: -1, Streams: -1, Consumer: -1}
	accountJWT, err := accountClaims.Encode(operator.pair)
	require.NoError(t, err)
	userJWT, err := jwt.NewUserClaims(user.public).Encode(account.pair)
	require.NoError(t, err)
	seed, err := user.pair.Seed()
	require.NoError(t, err)
	data, err := jwt.FormatUserConfig(userJWT, seed)
	require.NoError(t, err)
	system := newKey(t, nkeys.CreateAccount)
	systemJWT, err := jwt.NewAccountClaims(system.public).Encode(operator.pair)
	require.NoError(t, err)
	accounts := &server.MemAccResolver{}
	require.NoError(t, accounts.Store(account.public, accountJWT))
	require.NoError(t, accounts.Store(system.public, systemJWT))
	node, err := startNode(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, StoreDir: t.TempDir(), AccountResolver: accounts,
		TrustedKeys: []string{operator.public}, SystemAccount: system.public,
		TLS: true, TLSTimeout: 5, TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}},
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		node.Shutdown()
		node.WaitForShutdown()
	})
	return node.ClientURL(), write(t, t.TempDir(), "user.creds", string(data)), ca
}

type key struct {
	pair   nkeys.KeyPair
	public string
}

func newKey(t *testing.T, create func() (nkeys.KeyPair, error)) key {
	t.Helper()
	pair, err := create()
	require.NoError(t, err)
	public, err := pair.PublicKey()
	require.NoError(t, err)
	return key{pair, public}
}

// certificate is one for loopback, and the path of the file of its CA.
func certificate(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:        true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(t, err)
	file := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	ca := write(t, t.TempDir(), "ca.pem", string(file))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, ca
}

func TestCommandsLogInToNATSOverTLS(t *testing.T) {
	url, creds, ca := guardedNode(t)
	deployment(t)
	t.Setenv("NATS_URL", url)
	file := write(t, t.TempDir(), "a.wav", recording(1))
	for _, args := range [][]string{
		{"produce", "-creds", creds, "-ca", ca, file},
		{"set", "-creds", creds, "-ca", ca, "-rate", "100"},
		{"-deployment", "-creds", creds, "-ca", ca},
		{"watch", "-creds", creds, "-ca", ca},
		{"results", "-creds", creds, "-ca", ca},
	} {
		status, out, errOut := command(t, args...)
		assert.Zero(t, status, "%s: %s", args, errOut)
		if args[0] == "results" {
			assert.Contains(t, out, "a.wav\tdone\t1\t")
		}
	}
	for want, args := range map[string][]string{
		"Authorization Violation":       {"watch", "-ca", ca},
		"certificate signed by unknown": {"watch", "-creds", creds},
	} {
		status, _, errOut := command(t, args...)
		assert.Equal(t, exitFailed, status, args)
		assert.Contains(t, errOut, want)
	}
}

func TestLoginThatCannotWorkIsExplained(t *testing.T) {
	file := write(t, t.TempDir(), "file", "x")
	tests := map[string]struct {
		args   []string
		url    string
		status int
		want   string
	}{
		"no credentials": {[]string{"watch", "-creds", "gone.creds"}, "nats://127.0.0.1:1", exitUsage,
			`invalid value "gone.creds" for flag -creds: stat gone.creds: no such file`},
		"no CA": {[]string{"watch", "-ca", "gone.pem"}, "nats://127.0.0.1:1", exitUsage,
			`invalid value "gone.pem" for flag -ca: stat gone.pem: no such file`},
		"no certificates": {[]string{"watch", "-ca", file}, "nats://127.0.0.1:1", exitFailed,
			"failed to parse root certificate"},
		"demo": {[]string{"-ca", file}, "nats://127.0.0.1:1", exitUsage,
			"-creds, -ca, -queue and -account need -deployment"},
		"no queue": {[]string{"-deployment", "-ca", file}, "", exitUsage, "NATS_URL is not set"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			deployment(t)
			t.Setenv("NATS_URL", test.url)
			status, _, errOut := command(t, test.args...)
			assert.Equal(t, test.status, status)
			assert.Contains(t, errOut, test.want)
		})
	}
}
