// Package recipes is the code in the documents of docs/, compiled and tested. It is a module of its own because some of
// it needs packages that the SDK does not.
package recipes
