package declcfg

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/skim"
)

// bundleOf decodes a bundle as opm itself writes it: without unknown keys and values of the wrong type. For any other
// object it returns nil. The values of properties are parts of raw, not copies: they are nearly all bytes of a catalog.
func bundleOf(raw jsontext.Value) *Bundle {
	b := new(Bundle)
	c := skim.New(raw)
	if !readMembers(&c, func(key []byte) bool {
		switch string(key) {
		case `"schema"`:
			return readText(&c, &b.Schema)
		case `"name"`:
			return readText(&c, &b.Name)
		case `"package"`:
			return readText(&c, &b.Package)
		case `"image"`:
			return readText(&c, &b.Image)
		case `"properties"`:
			return readList(&c, &b.Properties, readProperty)
		case `"relatedImages"`:
			return readList(&c, &b.RelatedImages, readRelatedImage)
		}
		return false
	}) {
		return nil
	}
	return b
}

func readProperty(c *skim.Cursor, p *Property) bool {
	return readMembers(c, func(key []byte) bool {
		switch string(key) {
		case `"type"`:
			return readText(c, &p.Type)
		case `"value"`:
			p.Value = c.Value()
			return true
		}
		return false
	})
}

func readRelatedImage(c *skim.Cursor, i *RelatedImage) bool {
	return readMembers(c, func(key []byte) bool {
		switch string(key) {
		case `"name"`:
			return readText(c, &i.Name)
		case `"image"`:
			return readText(c, &i.Image)
		}
		return false
	})
}

// readMembers calls member for each member of an object, with its quoted key and the cursor before its value. It
// reports false if the next value is not an object, or if member does.
func readMembers(c *skim.Cursor, member func(key []byte) bool) bool {
	if c.Kind() != '{' {
		return false
	}
	for c.Enter(); c.More(); {
		if !member(c.Value()) {
			return false
		}
	}
	return true
}

func readList[T any](c *skim.Cursor, list *[]T, element func(*skim.Cursor, *T) bool) bool {
	if c.Kind() != '[' {
		return false
	}
	*list = make([]T, 0, 8)
	for c.Enter(); c.More(); {
		*list = append(*list, *new(T))
		if !element(c, &(*list)[len(*list)-1]) {
			return false
		}
	}
	return true
}

func readText(c *skim.Cursor, text *string) bool {
	if c.Kind() != '"' {
		return false
	}
	*text = unquoted(c.Value())
	return true
}
