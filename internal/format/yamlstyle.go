package format

import "bytes"

type style uint8

const (
	plainStyle   style = iota // text
	singleStyle               // 'text'
	doubleStyle               // "text", with escapes
	literalStyle              // |, and lines of text
)

// A class is the meaning of a byte for the choice of a style.
type class uint8

const (
	ordinary class = iota
	space
	lineBreak
	unprintable // never in anything but double quotes
	colon
	hash
	multibyte // it depends on the bytes that follow
)

var classes = classTable()

func classTable() (t [256]class) {
	for c := range t {
		if c < ' ' || c == 0x7F || c >= 0xF0 {
			t[c] = unprintable
		}
	}
	t[' '], t['\n'], t[':'], t['#'] = space, lineBreak, colon, hash
	t[0xC2], t[0xE2], t[0xEF] = multibyte, multibyte, multibyte
	return t
}

// styleOf chooses the style of the string v by the rules of libyaml: text of several lines is a block, text that would
// be read as another type is in double quotes, other text is plain. Text that its style cannot represent is quoted, in
// single quotes if possible.
func styleOf(v []byte) style {
	if len(v) == 0 {
		return doubleStyle
	}
	f := featuresOf(v)
	switch {
	case f.unprintable || f.spaceBreak:
		return doubleStyle
	case f.newline && v[len(v)-1] == ' ':
		return doubleStyle
	case f.newline:
		return literalStyle
	case resolves(v):
		return doubleStyle
	case f.breakSpace:
		return doubleStyle
	case f.lineBreak, f.indicator, v[0] == ' ', v[len(v)-1] == ' ', startsLikeSyntax(v):
		return singleStyle
	}
	return plainStyle
}

// IsPlain reports whether [AppendYAML] writes the string v without quotes.
func IsPlain(v []byte) bool { return styleOf(v) == plainStyle }

// features are the properties of a string that determine its possible styles.
type features struct {
	unprintable bool // the others may be wrong then
	newline     bool // a "\n"
	lineBreak   bool // any kind of line break
	spaceBreak  bool // a space before a line break
	breakSpace  bool // a space after a line break
	indicator   bool // a colon before a space or the end, or a hash after a space
}

func featuresOf(v []byte) (f features) {
	previous := ordinary
	for i := 0; i < len(v); i++ {
		this := classes[v[i]]
		if this == multibyte {
			this = classOf(v[i:])
		}
		switch this {
		case space:
			f.breakSpace = f.breakSpace || previous == lineBreak
		case lineBreak:
			f.lineBreak = true
			f.newline = f.newline || v[i] == '\n'
			f.spaceBreak = f.spaceBreak || previous == space
			if v[i] != '\n' {
				i += 2
			}
		case colon:
			f.indicator = f.indicator || i+1 == len(v) || v[i+1] == ' '
		case hash:
			f.indicator = f.indicator || previous == space
		case unprintable:
			f.unprintable = true
			return f
		}
		previous = this
	}
	return f
}

// classOf classifies the character of several bytes at the start of b.
func classOf(b []byte) class {
	switch {
	case isLineSeparator(b):
		return lineBreak
	case b[0] == 0xC2 && b[1] < 0xA0:
		return unprintable
	case b[0] == 0xEF && (b[1] == 0xBB && b[2] == 0xBF || b[1] == 0xBF && b[2] >= 0xBE):
		return unprintable
	}
	return ordinary
}

// startsLikeSyntax reports whether v begins with characters that are syntax in YAML.
func startsLikeSyntax(v []byte) bool {
	switch v[0] {
	case '#', ',', '[', ']', '{', '}', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`':
		return true
	case '?', '-':
		if len(v) == 1 || v[1] == ' ' {
			return true
		}
	}
	return bytes.HasPrefix(v, []byte("---")) || bytes.HasPrefix(v, []byte("..."))
}
