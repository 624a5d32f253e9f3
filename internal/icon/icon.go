// Package icon detects the kind of image that an icon is from its content.
//
//	mediaType := icon.Type(data) // "image/png"; "" for no image
package icon

import (
	"bytes"
	"encoding/binary"
	"encoding/xml"
	"io"
	"mime"
	"net/http"
	"strings"
)

// Type returns the media type of an image, "" for other data. It detects all types that upstream's opm accepts for an
// icon, by the same bytes and under the same names, and also AVIF and the types that browsers sniff.
func Type(data []byte) string {
	for _, s := range signatures {
		if s.matches(data) {
			return s.mediaType
		}
	}
	switch {
	case isHEIF(data):
		return "image/heif"
	case isBrand(data, "avif"):
		return "image/avif"
	case isSVG(data):
		return "image/svg+xml"
	}
	if t := http.DetectContentType(data); strings.HasPrefix(t, "image/") {
		return t
	}
	return ""
}

// A signature is the bytes that identify a type of images.
type signature struct {
	mediaType string
	start     string
	more      string // at offset 8
}

func (s signature) matches(data []byte) bool {
	return bytes.HasPrefix(data, []byte(s.start)) &&
		(s.more == "" || len(data) > 8 && bytes.HasPrefix(data[8:], []byte(s.more)))
}

// signatures are tried in this order: a CR2 is also a TIFF.
var signatures = []signature{
	{"image/png", "\x89PNG", ""},
	{"image/jpeg", "\xff\xd8\xff", ""},
	{"image/gif", "GIF", ""},
	{"image/webp", "", "WEBP"},
	{"image/vnd.microsoft.icon", "\x00\x00\x01\x00", ""},
	{"image/bmp", "BM", ""},
	{"image/x-canon-cr2", "II*\x00", "CR\x02"},
	{"image/x-canon-cr2", "MM\x00*", "CR\x02"},
	{"image/tiff", "II*\x00", ""},
	{"image/tiff", "MM\x00*", ""},
	{"image/jp2", "\x00\x00\x00\x0cjP  ", "\r\n\x87\n\x00"},
	{"image/vnd.ms-photo", "II\xbc", ""},
	{"image/vnd.adobe.photoshop", "8BPS", ""},
	{"image/vnd.dwg", "AC10", ""},
}

// aliases maps alternative names of media types to their usual names.
var aliases = map[string]string{
	"image/jpg":    "image/jpeg",
	"image/x-icon": "image/vnd.microsoft.icon",
	"image/heic":   "image/heif",
}

// SameType reports whether two media types are equivalent. Case, parameters and alternative names do not matter.
func SameType(a, b string) bool { return canonical(a) == canonical(b) }

func canonical(mediaType string) string {
	name, _, err := mime.ParseMediaType(mediaType)
	if err != nil {
		return mediaType
	}
	if other, ok := aliases[name]; ok {
		return other
	}
	return name
}

// isBrand reports whether data is in the ISO base media format with this major brand.
func isBrand(data []byte, brand string) bool {
	return len(data) >= 12 && string(data[4:12]) == "ftyp"+brand
}

// isHEIF reports whether data is a HEIF image with HEVC, which upstream accepts: its major brand says so, or the major
// brand is generic and a compatible brand says so.
func isHEIF(data []byte) bool {
	if isBrand(data, "heic") {
		return true
	}
	if !isBrand(data, "mif1") && !isBrand(data, "msf1") {
		return false
	}
	end := min(int(binary.BigEndian.Uint32(data)), len(data))
	for at := 16; at+4 <= end; at += 4 {
		if string(data[at:at+4]) == "heic" {
			return true
		}
	}
	return false
}

// isSVG reports whether data is an XML document with an svg element that has an end tag, which upstream requires.
func isSVG(data []byte) bool {
	if !bytes.Contains(bytes.ToLower(data), []byte("</svg>")) {
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
