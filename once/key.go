package once

// Key returns the key of a name in the ledger, which depends on the base URL or the scope. With [Dir], it is the name
// of a file; in a database, the key of a row. The collection is images or transcriptions, as in [State] and [Error].
func (c *Client) Key(collection, name string) string {
	s := c.Images.service
	return ledgerKey(s.scope, s.base, collection, name)
}
