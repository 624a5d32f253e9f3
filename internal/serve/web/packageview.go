package web

import (
	"encoding/base64"
	"slices"

	"github.com/opm-toolchain/opm/internal/icon"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// packageView is the response to /ui/v1/package. Fields that a package does not have are taken from the head of its
// default channel.
type packageView struct {
	Catalog        string        `json:"catalog"`
	Name           string        `json:"name"`
	DisplayName    string        `json:"displayName,omitempty"`
	Provider       string        `json:"provider,omitempty"`
	Description    string        `json:"description,omitempty"` // Markdown
	Icon           string        `json:"icon,omitempty"`        // a data: URL
	DefaultChannel string        `json:"defaultChannel"`
	Deprecated     bool          `json:"deprecated,omitempty"`
	Deprecation    string        `json:"deprecation,omitempty"` // the message
	Head           string        `json:"head,omitempty"`        // the bundle that new users get
	Version        string        `json:"version,omitempty"`     // of the head
	Channels       []channelView `json:"channels"`              // sorted by graph.CompareChannels; every bundle is in one
}

type channelView struct {
	Name        string     `json:"name"`
	Deprecated  bool       `json:"deprecated,omitempty"`
	Deprecation string     `json:"deprecation,omitempty"`
	Head        string     `json:"head,omitempty"`
	Version     string     `json:"version,omitempty"` // of the head
	Refused     string     `json:"refused,omitempty"` // why OLM Classic refuses the channel
	Bundles     []nodeView `json:"bundles"`           // bundles that the channel names, the highest version first
}

// A nodeView is a bundle that a channel names, with its updates while it is installed and follows the channel.
type nodeView struct {
	Name        string      `json:"name"`
	Version     string      `json:"version,omitempty"`
	Head        bool        `json:"head,omitempty"`
	Outside     bool        `json:"outside,omitempty"` // the channel only updates it, and has no entry for it
	Missing     bool        `json:"missing,omitempty"` // it is not in the catalog
	Skipped     bool        `json:"skipped,omitempty"`
	Deprecated  bool        `json:"deprecated,omitempty"`
	Deprecation string      `json:"deprecation,omitempty"`
	Classic     *graph.Fate `json:"classic,omitempty"`
	V1          *graph.Fate `json:"v1,omitempty"`
}

func (op *operator) view(catalog string) *packageView {
	v := &packageView{
		Catalog: catalog, Name: op.Name, Description: op.Description, Icon: dataURL(op.Icon),
		DefaultChannel: op.DefaultChannel, Deprecated: op.graph.Deprecated,
		Deprecation: op.message(declcfg.SchemaPackage, ""),
		Head:        head(op.graph.Channel(op.DefaultChannel)),
		Channels:    []channelView{},
	}
	v.Version = op.versionOf(v.Head)
	for _, c := range op.graph.Channels {
		v.Channels = append(v.Channels, op.channelView(c))
	}
	return v
}

func (op *operator) channelView(c *graph.Channel) channelView {
	v := channelView{
		Name: c.Name, Deprecated: c.Deprecated, Deprecation: op.message(declcfg.SchemaChannel, c.Name),
		Head: head(c), Bundles: []nodeView{},
	}
	v.Version = op.versionOf(v.Head)
	outlooks, err := op.graph.Outlooks(c, graph.V1Options{}, false)
	if err != nil {
		v.Refused = err.Error()
	}
	outlookOf := map[string]*graph.Outlook{}
	for o := range outlooks {
		outlookOf[o.Installed] = &o
	}
	for _, n := range c.Nodes() {
		node := nodeView{
			Name: n.Name, Version: op.versionOf(n.Name), Head: n.Head, Outside: n.Entry == nil, Missing: n.Virtual,
			Skipped: n.Skipped, Deprecated: n.Deprecated,
			Deprecation: op.message(declcfg.SchemaBundle, n.Name),
		}
		if o := outlookOf[n.Name]; o != nil {
			node.Classic, node.V1 = &o.Classic, &o.V1
		}
		v.Bundles = append(v.Bundles, node)
	}
	return v
}

// versionOf returns the version of a bundle, or "" if it is not known.
func (op *operator) versionOf(name string) string {
	if b := op.graph.Bundle(name); b != nil && b.Version != nil {
		return b.Version.String()
	}
	return ""
}

// displayableTypes are the types of images that browsers display. In an img element, none of them runs scripts or loads
// anything.
var displayableTypes = []string{
	"image/png", "image/jpeg", "image/gif", "image/svg+xml", "image/webp", "image/avif", "image/bmp",
	"image/vnd.microsoft.icon",
}

// dataURL returns an icon as a data: URL for an img element, or "" if browsers cannot display it. The type in the URL
// is detected from the content; the declared type is ignored.
func dataURL(i *declcfg.Icon) string {
	if i == nil {
		return ""
	}
	t := icon.Type(i.Data)
	if !slices.Contains(displayableTypes, t) {
		return ""
	}
	return "data:" + t + ";base64," + base64.StdEncoding.EncodeToString(i.Data)
}
