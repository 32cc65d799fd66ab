package engine

import "github.com/aicontent/aicontent-go/internal/redact"

// Credential is an API key, ready to be sent and masked.
type Credential struct {
	header string // Authorization
	keys   redact.Keys
}

// NewCredential returns the credential for a key.
func NewCredential(key string) *Credential {
	return &Credential{"Bearer " + key, redact.Keys{redact.Key(key)}}
}

// Keys returns the key, for masking. A nil Credential has none.
func (k *Credential) Keys() redact.Keys {
	if k == nil {
		return nil
	}
	return k.keys
}

// authorization returns the value of the Authorization header, in memory if that has room.
func (k *Credential) authorization(memory []string) []string { return append(memory, k.header) }

// takeKey gets the key of the next attempt: the renewed one after a 401, else the current one.
func (c *call) takeKey() (err error) {
	if c.key, c.renewal = c.renewal, nil; c.key == nil {
		if c.key, err = c.sender.Key(c.ctx); err != nil {
			return err
		}
	}
	c.keys = c.keys.With(c.key.keys[0])
	return nil
}

// renewKey asks for another key after a 401, once in a call, and reports whether there is one.
func (c *call) renewKey() (again bool, why Why, err error) {
	c.renewed = true
	if c.renewal, err = c.sender.Key(c.ctx); err != nil {
		return false, KeyError, err
	}
	return c.renewal.header != c.key.header, Final, nil
}
