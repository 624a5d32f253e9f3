package schemas

import "bytes"

// A cursor reads an object that is known to be valid JSON. It does not check again what was checked before, so it takes
// half the time of a decoder.
type cursor struct {
	text []byte
	at   int
}

// kind goes to the next value, name or end of a container, and returns its first byte.
func (c *cursor) kind() byte {
	for between[c.text[c.at]] {
		c.at++
	}
	return c.text[c.at]
}

// between are the bytes between names, values and ends of containers; behind are those that may follow a literal.
var between, behind [256]bool

func init() {
	for _, b := range []byte(" \t\r\n,:") {
		between[b], behind[b] = true, true
	}
	behind['}'], behind[']'] = true, true
}

// enter goes into the container that is next.
func (c *cursor) enter() { c.at++ }

// more reports whether something is left in the container. At its end it goes out of it.
func (c *cursor) more() bool {
	if kind := c.kind(); kind != '}' && kind != ']' {
		return true
	}
	c.at++
	return false
}

// value returns the next value or name.
func (c *cursor) value() []byte {
	c.kind()
	start := c.at
	c.skip()
	return c.text[start:c.at:c.at]
}

// skip goes behind the next value or name.
func (c *cursor) skip() {
	for depth := 0; ; {
		switch c.kind() {
		case '"':
			c.skipString()
		case '{', '[':
			depth++
			c.at++
		case '}', ']':
			depth--
			c.at++
		default:
			for !behind[c.text[c.at]] {
				c.at++
			}
		}
		if depth == 0 {
			return
		}
	}
}

// skipString goes behind a string: to the next quote that no backslash escapes.
func (c *cursor) skipString() {
	for escaped := true; escaped; {
		c.at++
		c.at += bytes.IndexByte(c.text[c.at:], '"')
		escaped = false
		for i := c.at - 1; c.text[i] == '\\'; i-- {
			escaped = !escaped
		}
	}
	c.at++
}
