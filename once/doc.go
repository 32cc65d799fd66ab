// Package once stores records once: across calls, processes and restarts.
package once
