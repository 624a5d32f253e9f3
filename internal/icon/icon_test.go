package icon_test

import (
	"testing"

	"github.com/opm-toolchain/opm/internal/icon"
)

func TestType(t *testing.T) {
	tests := []struct{ data, want string }{
		{"GIF89a and so on", "image/gif"},
		{"\x89PNG\x0d\x0a\x1a\x0a", "image/png"},
		{"\xff\xd8\xff\xe0\x00\x10JFIF", "image/jpeg"},
		{"II*\x00\x08\x00\x00\x00\x0b\x00\x00", "image/tiff"},
		{"II*\x00\x10\x00\x00\x00CR\x02", "image/x-canon-cr2"},
		{"MM\x00*\x00\x00\x00\x10CR\x02", "image/x-canon-cr2"},
		{"\x00\x00\x00\x0cjP  \r\n\x87\n\x00", "image/jp2"},
		{"II\xbc\x01\x00\x00\x00\x00", "image/vnd.ms-photo"},
		{"8BPS\x00\x01\x00\x00", "image/vnd.adobe.photoshop"},
		{"AC1032\x00\x00", "image/vnd.dwg"},
		{"BM\x00\x00\x00\x00\x00\x00", "image/bmp"},
		{"\x00\x00\x00\x20ftypavif", "image/avif"},
		{"<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>", "image/svg+xml"},
		{"<?xml version=\"1.0\"?>\n<!-- a comment -->\n<!DOCTYPE svg>\n<svg>\n</svg>\n", "image/svg+xml"},
		{"\x00\x00\x01\x00\x01\x00\x10\x10", "image/vnd.microsoft.icon"},
		{"RIFF\x00\x00\x00\x00WEBPVP", "image/webp"},
		{"MM\x00*\x00\x00\x00\x08\x00\x0b\x00", "image/tiff"},
		{"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic", "image/heif"},
		{"\x00\x00\x00\x18ftypmif1\x00\x00\x00\x00mif1heic", "image/heif"},
		{"\x00\x00\x00\x14ftypmsf1\x00\x00\x00\x00mif1heic", ""},
		{"\xff\xff\xff\xffftypmif1\x00\x00\x00\x00mif", ""},
		{"<SVG></SVG>", "image/svg+xml"},
		{"\x00\x00\x00\x20ftypmp42", ""},
		{"\ufeff<svg></svg>", "image/svg+xml"},
		{"<svg></svg", ""},
		{"<svg/>", ""}, // upstream asks for an end tag
		{"<html><svg></svg></html>", ""},
		{"# Title\n", ""},
		{"", ""},
	}
	for _, tt := range tests {
		if got := icon.Type([]byte(tt.data)); got != tt.want {
			t.Errorf("Type(%q) = %q, want %q", tt.data, got, tt.want)
		}
	}
}

func TestSameType(t *testing.T) {
	tests := []struct {
		a, b string
		want bool
	}{
		{"image/png", "image/png", true},
		{"image/PNG", "image/png", true},
		{"image/svg+xml;charset=utf-8", "image/svg+xml", true},
		{"image/jpg", "image/jpeg", true},
		{"image/vnd.microsoft.icon", "image/x-icon", true},
		{"image/heic", "image/heif", true},
		{"image/png", "image/jpeg", false},
		{"image/svg", "image/svg+xml", false},
		{"png", "image/png", false},
		{"", "image/png", false},
	}
	for _, tt := range tests {
		if got := icon.SameType(tt.a, tt.b); got != tt.want {
			t.Errorf("SameType(%q, %q) = %t", tt.a, tt.b, got)
		}
	}
}
