// Package plural formats counts, sizes and long lists for people.
//
//	plural.Of(1, "image")                // 1 image
//	plural.Words(2, "entry", "entries")  // 2 entries
//	plural.Number(5242880)               // 5,242,880
//	plural.Bytes(64 << 20)               // 64 MB
//	plural.Some(names)                   // a, b, c, d, e and 3 others
//	plural.Ranges(all, names)            // a … h
package plural

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Of formats a count of things whose plural ends in s.
func Of(n int, one string) string { return Words(n, one, one+"s") }

// Words formats a count, which must not be negative, with its words in singular or plural: "1 image is", "2,000 images
// are".
func Words(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(n) + " " + many
}

// Number formats a number, which must not be negative, with thousands separators: "5,242,880".
func Number(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Bytes formats a number of bytes exactly, in the largest unit that divides it: "512 bytes", "64 MB".
func Bytes(n int64) string {
	const units = " KMGTPE"
	i, whole := 0, n
	for whole >= 1024 && whole%1024 == 0 {
		whole /= 1024
		i++
	}
	if i == 0 {
		return Of(int(n), "byte")
	}
	return fmt.Sprintf("%d %cB", whole, units[i])
}

// Size formats a number of bytes, rounded to at least two digits: "512 bytes", "1.4 GB", "37 MB".
func Size(n int64) string {
	const units = " KMGTPE"
	i, size := 0, float64(n)
	for size >= 1000 && i < len(units)-1 {
		size /= 1024
		i++
	}
	switch {
	case i == 0:
		return Of(int(n), "byte")
	case size < 9.95:
		return fmt.Sprintf("%.1f %cB", size, units[i])
	}
	return fmt.Sprintf("%.0f %cB", size, units[i])
}

// Some formats a list of names. If there are more than six, it has the first five and the number of the others.
func Some(names []string) string {
	const most = 5
	if len(names) <= most+1 {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + " and " + Number(len(names)-most) + " others"
}

// Ranges returns the names that are also in some, in the order of all. Three names or more in a row are one text: "v1 …
// v3".
func Ranges(all, some []string) (texts []string) {
	for i := 0; i < len(all); i++ {
		n := 0
		for i+n < len(all) && slices.Contains(some, all[i+n]) {
			n++
		}
		if n > 2 {
			texts = append(texts, all[i]+" … "+all[i+n-1])
		} else {
			texts = append(texts, all[i:i+n]...)
		}
		i += n // all[i+n] is not in some
	}
	return texts
}
