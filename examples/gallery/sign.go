package main

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
)

// signingKey proves that the gallery has made an address or a form, in this run.
type signingKey []byte

func newSigningKey() signingKey {
	key := make(signingKey, 32)
	rand.Read(key)
	return key
}

// sign returns the signature of a text, which counts for one purpose only.
func (k signingKey) sign(purpose, text string) string {
	mac := hmac.New(sha256.New, k)
	mac.Write([]byte(purpose + " " + text))
	return hex.EncodeToString(mac.Sum(nil))
}

func (k signingKey) signed(purpose, text, signature string) bool {
	return hmac.Equal([]byte(k.sign(purpose, text)), []byte(signature))
}
