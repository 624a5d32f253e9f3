// Package icon detects the kind of image that an icon is from its content.
//
//	mediaType := icon.Type(data) // "image/png"; "" for no image
package icon

import (
	"bytes"
	"encoding/xml"
	"io"
	"mime"
	"net/http"
	"strings"
)

// Type returns the media type of an image, "" for what is none. Beside what browsers sniff it knows SVG, TIFF, AVIF and
// HEIC.
func Type(data []byte) string {
	if t := http.DetectContentType(data); strings.HasPrefix(t, "image/") {
		return t
	}
	switch {
	case bytes.HasPrefix(data, []byte("II*\x00")), bytes.HasPrefix(data, []byte("MM\x00*")):
		return "image/tiff"
	case isBrand(data, "avif"):
		return "image/avif"
	case isBrand(data, "heic"):
		return "image/heic"
	case isSVG(data):
		return "image/svg+xml"
	}
	return ""
}

// otherNames holds media types that are in use for another one.
var otherNames = map[string]string{
	"image/jpg":                "image/jpeg",
	"image/vnd.microsoft.icon": "image/x-icon",
}

// SameType reports whether two media types mean the same. Upper case, parameters and other names do not matter.
func SameType(a, b string) bool { return canonical(a) == canonical(b) }

func canonical(mediaType string) string {
	name, _, err := mime.ParseMediaType(mediaType)
	if err != nil {
		return mediaType
	}
	if other, ok := otherNames[name]; ok {
		return other
	}
	return name
}

// isBrand reports whether data is of the ISO base media format and of that major brand.
func isBrand(data []byte, brand string) bool {
	return len(data) >= 12 && string(data[4:12]) == "ftyp"+brand
}

// isSVG reports whether data is an XML document of an svg element that has an end tag, which upstream asks for.
func isSVG(data []byte) bool {
	if !bytes.Contains(data, []byte("</svg>")) {
		return false
	}
	d := xml.NewDecoder(bytes.NewReader(data))
	d.Strict = false
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	for {
		token, err := d.Token()
		if err != nil {
			return false
		}
		if start, ok := token.(xml.StartElement); ok {
			return strings.EqualFold(start.Name.Local, "svg")
		}
	}
}
