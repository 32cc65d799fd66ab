package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
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

func TestCommandsLogInToNATSWithAContext(t *testing.T) {
	url, creds, ca := guardedNode(t)
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	require.NoError(t, os.MkdirAll(filepath.Join(config, "nats", "context"), 0o700))
	save := func(name, creds, ca string) {
		text := fmt.Sprintf(`{"url":%q,"creds":%q,"ca":%q}`, url, creds, ca)
		write(t, filepath.Join(config, "nats", "context"), name+".json", text)
	}
	save("fleet", creds, ca)
	save("stranger", "", ca)
	save("unsafe", creds, "")
	file := write(t, t.TempDir(), "a.wav", recording(1))
	for _, args := range [][]string{{"produce", "-context", "fleet", file}, {"results", "-context=fleet"}} {
		status, _, errOut := command(t, args...)
		assert.Zero(t, status, "%s: %s", args, errOut)
	}
	for name, want := range map[string]string{
		"stranger": "Authorization Violation", "unsafe": "certificate signed by unknown", "missing": "missing",
	} {
		status, _, errOut := command(t, "results", "-context", name)
		assert.Equal(t, exitFailed, status, name)
		assert.Contains(t, errOut, "fleet: connect to NATS: ")
		assert.Contains(t, errOut, want)
	}
}
