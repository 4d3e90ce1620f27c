// Package archtest holds the house rules as tests.
//
// The rules read the module's own files, parsed in this process: a rule that
// asked the go command would keep a stale pass in the test cache. Every rule is
// a function from a tree of files to a list of faults, so that it is tested on
// small made-up trees beside the real one. Nothing imports this package.
package archtest
