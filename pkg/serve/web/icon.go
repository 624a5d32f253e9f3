package web

import (
	"encoding/base64"
	"slices"

	"github.com/opm-toolchain/opm/internal/icon"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// shown are the types of images that browsers show. In an img, none of them runs scripts or loads anything.
var shown = []string{
	"image/png", "image/jpeg", "image/gif", "image/svg+xml", "image/webp", "image/avif", "image/bmp",
	"image/vnd.microsoft.icon",
}

// dataURL returns an icon as a URL for an img, with the type of its content instead of the one that it names; "" if
// there is none that can be shown.
func dataURL(i *declcfg.Icon) string {
	if i == nil {
		return ""
	}
	t := icon.Type(i.Data)
	if !slices.Contains(shown, t) {
		return ""
	}
	return "data:" + t + ";base64," + base64.StdEncoding.EncodeToString(i.Data)
}
