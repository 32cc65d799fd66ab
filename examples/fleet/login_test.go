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

// The error of a file must name it, and an error of JSON quotes the character that breaks it.
func TestAContextThatCannotBeUsedExitsWith2(t *testing.T) {
	url := newNode(t, &server.Options{Username: "fleet", Password: "hush"})
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	contexts := filepath.Join(config, "nats", "context")
	require.NoError(t, os.MkdirAll(contexts, 0o700))
	gone := filepath.Join(config, "gone")
	member := func(name string) string { return fmt.Sprintf(`{"url":%q,%q:%q}`, url, name, gone) }
	for name, c := range map[string]struct{ argument, text, want string }{
		"an unknown name":    {"missing", "", `fleet: -context: unknown context "missing"`},
		"an invalid name":    {"a/b", "", "fleet: -context: invalid context name a/b"},
		"a file that is not": {gone, "", "fleet: -context: open " + gone + ": "},
		"an address":         {"nats://fleet:hush@127.0.0.1:4222", "", "fleet: the address of NATS must be URLs"},
		"broken JSON":        {"c", `{"password":"a"Z`, "fleet: -context c: its file is not JSON of the nats command"},
		"another type":       {"c", `{"password":777}`, "fleet: -context c: its file is not JSON of the nats command"},
		"an empty file":      {"c", "", "fleet: -context c: its file is not JSON of the nats command"},
		"no credentials":     {"c", member("creds"), "open " + gone + ": "},
		"no key":             {"c", member("nkey"), "open " + gone + ": "},
		"no CA":              {"c", member("ca"), "open " + gone + ": "},
	} {
		t.Run(name, func(t *testing.T) {
			write(t, contexts, "c.json", c.text)
			status, out, errOut := command(t, "results", "-context", c.argument)
			assert.Equal(t, exitUsage, status)
			assert.Contains(t, errOut, c.want)
			for _, part := range []string{"hush", "Z", "777"} {
				assert.NotContains(t, out+errOut, part)
			}
		})
	}
}
