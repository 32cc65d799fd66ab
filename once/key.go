package once

// Key returns the key of a name in the ledger: the name of a file of [Dir], or the key of a row in a database. It
// depends on the base URL or the scope. The collection is images or transcriptions.
func (c *Client) Key(collection, name string) string {
	s := c.Images.service
	return ledgerKey(s.scope, s.base, collection, name)
}
