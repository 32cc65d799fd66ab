// Package aicontenttest is the AI content service in memory, for testing what is built on it.
package aicontenttest
