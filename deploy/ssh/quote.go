package ssh

import "strings"

// plain are the characters that mean nothing to any shell.
const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789%+,-./:=@_"

// quote makes one word of a command line for the login shell of a node, which
// hands it to the program unchanged. sshd passes a single string to that shell.
// There is no way to quote a line end for every shell, so scripts have none.
func quote(word string) string {
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// commandLine is the string that makes a login shell execute argv.
func commandLine(argv ...string) string {
	words := make([]string, len(argv))
	for i, word := range argv {
		words[i] = quote(word)
	}
	return "exec " + strings.Join(words, " ")
}
