package main

import (
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCommandsLogInToNATSWithAContext(t *testing.T) {
	web := httptest.NewTLSServer(nil) // for its certificate
	web.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})
	url := newNode(t, &server.Options{
		Username: "fleet", Password: "hush", TLS: true, TLSTimeout: 5,
		TLSConfig: &tls.Config{Certificates: web.TLS.Certificates},
	})
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	contexts := filepath.Join(config, "nats", "context")
	require.NoError(t, os.MkdirAll(contexts, 0o700))
	trusted := write(t, config, "ca.pem", string(ca))
	save := func(name, user, ca string) {
		text := fmt.Sprintf(`{"url":%q,"user":%q,"password":"hush","ca":%q}`, url, user, ca)
		write(t, contexts, name+".json", text)
	}
	save("fleet", "fleet", trusted)
	save("stranger", "stranger", trusted)
	save("unsafe", "fleet", "")
	file := write(t, config, "a.mp3", recording(1))
	for _, args := range [][]string{{"produce", "-context", "fleet", file}, {"results", "-context=fleet"}} {
		status, _, errOut := command(t, args...)
		assert.Zero(t, status, "%s: %s", args, errOut)
	}
	for name, want := range map[string]string{
		"stranger": "Authorization Violation", "unsafe": "certificate signed by unknown",
	} {
		status, _, errOut := command(t, "results", "-context", name)
		assert.Equal(t, exitFailed, status, name)
		assert.Contains(t, errOut, "fleet: connect to NATS: ")
		assert.Contains(t, errOut, want)
		assert.NotContains(t, errOut, "hush")
	}
}
