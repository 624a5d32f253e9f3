// Package plural writes numbers of things.
//
//	plural.Of(1, "image")                // 1 image
//	plural.Words(2, "entry", "entries")  // 2 entries
package plural

import "fmt"

// Of writes a number of things whose plural ends in s.
func Of(n int, one string) string { return Words(n, one, one+"s") }

// Words writes a number of things, which may be words in a sentence: "1 image is", "2 images are".
func Words(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
