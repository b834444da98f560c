//go:build !race

package sftpproof_test

// buildFlags have the program built as the test is.
var buildFlags []string
