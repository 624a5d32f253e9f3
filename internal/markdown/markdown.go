// Package markdown writes names and text that may hold anything into Markdown, so that they show as they are.
package markdown

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/opm-toolchain/opm/internal/legible"
)

// Code writes a name between more backticks than it has in a row.
func Code(s string) string {
	s = legible.Name(s)
	fence, run := 1, 0
	for _, r := range s {
		if r != '`' {
			run = 0
			continue
		}
		run++
		fence = max(fence, run+1)
	}
	space := ""
	if fence > 1 {
		space = " "
	}
	around := strings.Repeat("`", fence)
	return around + space + s + space + around
}

// Escape escapes text.
func Escape(s string) string {
	var text strings.Builder
	for _, r := range legible.Text(s) {
		if r < utf8.RuneSelf && (unicode.IsPunct(r) || unicode.IsSymbol(r)) && !strings.ContainsRune(`.,:;-/()'"%`, r) {
			text.WriteByte('\\')
		}
		text.WriteRune(r)
	}
	return text.String()
}

// List writes a title and a list of texts, which are Markdown; without items it writes nothing.
func List[T any](w io.Writer, title string, items []T, text func(T) string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s:\n\n", title)
	for _, item := range items {
		fmt.Fprintf(w, "- %s\n", text(item))
	}
}
