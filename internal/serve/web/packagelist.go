package web

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/opm-toolchain/opm/internal/list"
	"github.com/opm-toolchain/opm/internal/serve/store"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// catalogList is the response to /ui/v1/catalogs.
type catalogList struct {
	Catalogs []catalogItem `json:"catalogs"`
}

type catalogItem struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"` // of all objects as JSON lines

	Withheld []Withheld `json:"withheld,omitzero"` // packages that are not served
}

// packageList is the response to /ui/v1/packages.
type packageList struct {
	Catalog  string         `json:"catalog"`
	Packages []*packageItem `json:"packages"` // by name

	encoded []byte // the response
}

// A packageItem is a package in the list that users choose from. Fields that a package does not have are taken from the
// head of its default channel.
type packageItem struct {
	Name           string   `json:"name"`
	DisplayName    string   `json:"displayName,omitempty"`
	Summary        string   `json:"summary,omitempty"` // a few words of plain text
	Provider       string   `json:"provider,omitempty"`
	Keywords       []string `json:"keywords,omitempty"`
	Categories     string   `json:"categories,omitempty"` // separated by commas
	DefaultChannel string   `json:"defaultChannel"`
	Channels       []string `json:"channels"` // as graph.CompareChannels orders them
	Version        string   `json:"version,omitempty"`
	Deprecated     bool     `json:"deprecated,omitempty"`
	HasIcon        bool     `json:"hasIcon,omitempty"`

	description string
	head        string
	version     *declcfg.Version // of the head, nil if it is not known
}

// list returns the list of all packages. Of the bundles, it reads only the heads of default channels.
func (c *Catalog) list() (*packageList, error) {
	items := map[string]*packageItem{}
	for _, schema := range []string{declcfg.SchemaPackage, declcfg.SchemaChannel, declcfg.SchemaDeprecations} {
		for o, err := range c.decoded(store.Query{Schema: schema}) {
			if err != nil {
				return nil, err
			}
			addObject(items, o)
		}
	}
	all := &packageList{Catalog: c.Name, Packages: []*packageItem{}}
	for _, p := range items {
		if err := c.describe(p); err != nil {
			return nil, err
		}
		slices.SortFunc(p.Channels, graph.CompareChannels)
		all.Packages = append(all.Packages, p)
	}
	slices.SortFunc(all.Packages, func(a, b *packageItem) int { return strings.Compare(a.Name, b.Name) })
	var err error
	all.encoded, err = encode(all, nil)
	return all, err
}

// listOf returns the list of all packages of a catalog, which is read at the first request. The error may be the error
// of the context of r.
func (h *handler) listOf(r *http.Request, c *Catalog) (*packageList, error) {
	return h.lists.of(r.Context(), c, func() (*packageList, error) {
		all, resize, err := limitViews(h, r, c.readMemory(), c.list)
		resize(0)
		return all, err
	})
}

// packagesView serves /ui/v1/packages.
func (h *handler) packagesView(w http.ResponseWriter, r *http.Request) {
	params, ok := query(w, r, "catalog")
	if !ok {
		return
	}
	h.withCatalog(w, params.Get("catalog"), func(c *Catalog) {
		all, err := h.listOf(r, c)
		h.show(w, r, jsonView, 0, func() ([]byte, error) {
			if err != nil {
				return nil, err
			}
			return all.encoded, nil
		})
	})
}

// addObject adds the fields of an object to the item of its package. The olm.package objects must come first.
func addObject(items map[string]*packageItem, o object) {
	item := items[o.head.Owner()]
	switch v := o.value.(type) {
	case *declcfg.Package:
		if item == nil {
			items[v.Name] = &packageItem{
				Name: v.Name, DefaultChannel: v.DefaultChannel, Channels: []string{}, HasIcon: dataURL(v.Icon) != "",
				description: v.Description,
			}
		}
	case *declcfg.Channel:
		if item == nil {
			return
		}
		item.Channels = append(item.Channels, v.Name)
		if v.Name == item.DefaultChannel {
			item.head = head(graph.New(v.Entries))
		}
	case *declcfg.Deprecations:
		for _, e := range v.Entries {
			if item != nil && e.Reference.Schema == declcfg.SchemaPackage {
				item.Deprecated = true
			}
		}
	}
}

func (c *Catalog) describe(p *packageItem) error {
	p.Summary = summary(p.description)
	if p.head == "" {
		return nil
	}
	b, err := c.bundle(p.Name, p.head)
	if err != nil || b == nil {
		return err
	}
	csv := b.CSVMetadata()
	if v, err := b.Version(); err == nil {
		p.Version, p.version = v.String(), &v
	}
	p.DisplayName, p.Provider, p.Keywords = csv.DisplayName, csv.Provider.Name, csv.Keywords
	p.Categories = csv.Annotations["categories"]
	for _, text := range []string{csv.Annotations["description"], p.description, csv.Description} {
		if p.Summary = summary(text); p.Summary != "" {
			break
		}
	}
	return nil
}

// summary returns the first paragraph of a text in Markdown that is not a heading, in one line, shortened to about 200
// characters.
func summary(text string) string {
	const limit, most = 200, 64 << 10 // of characters, and of bytes that are looked at
	text = text[:min(len(text), most)]
	for paragraph := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n") {
		var words []string
		for line := range strings.Lines(paragraph) {
			if !strings.HasPrefix(line, "#") && strings.Trim(line, "=-* \n") != "" {
				words = append(words, strings.Fields(line)...)
			}
		}
		if len(words) == 0 {
			continue
		}
		runes := []rune(strings.Join(words, " "))
		if len(runes) > limit {
			return strings.TrimSpace(string(runes[:limit])) + "…"
		}
		return string(runes)
	}
	return ""
}

// matrixView serves /ui/v1/matrix: it compares the default channels of all catalogs, as `opm matrix` does.
func (h *handler) matrixView(w http.ResponseWriter, r *http.Request) {
	if _, ok := query(w, r); !ok {
		return
	}
	catalogs, release := h.Acquire()
	defer release()
	var all []*packageList
	var err error
	memory := 0
	for i := 0; i < len(catalogs) && err == nil; i++ {
		var one *packageList
		if one, err = h.listOf(r, &catalogs[i]); err == nil {
			all, memory = append(all, one), memory+objectFactor*len(one.encoded)
		}
	}
	h.show(w, r, jsonView, memory, func() ([]byte, error) {
		if err != nil {
			return nil, err
		}
		var columns []list.MatrixColumn
		for _, l := range all {
			columns = append(columns, l.column())
		}
		return encode(list.NewMatrix(columns, false), nil)
	})
}

func (l *packageList) column() list.MatrixColumn {
	column := list.MatrixColumn{Catalog: l.Catalog}
	for _, p := range l.Packages {
		column.Heads = append(column.Heads, list.ChannelHead{
			Package: p.Name, Channel: p.DefaultChannel, Default: true, Bundle: p.head, Version: p.version,
		})
	}
	return column
}

// perCatalog caches a value for each catalog that takes long to compute, such as the list of its packages. The zero
// value is ready for use.
type perCatalog[T any] struct {
	mu     sync.Mutex
	byName map[string]*cachedValue[T]
}

// A cachedValue is the value for the content of a catalog. It is computed at the first request.
type cachedValue[T any] struct {
	lock     *semaphore.Weighted // held while the value is read or computed
	objects  *store.Catalog
	computed bool
	value    T
}

// of returns the value of a catalog. If there is none for its current content, it computes one; concurrent callers wait
// for it. An error is not cached, and may be ctx's.
func (p *perCatalog[T]) of(ctx context.Context, c *Catalog, produce func() (T, error)) (T, error) {
	v := p.entry(c)
	if err := v.lock.Acquire(ctx, 1); err != nil {
		var none T
		return none, err
	}
	defer v.lock.Release(1)
	if !v.computed {
		value, err := produce()
		if err != nil {
			return value, err
		}
		v.value, v.computed = value, true
	}
	return v.value, nil
}

func (p *perCatalog[T]) entry(c *Catalog) *cachedValue[T] {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byName == nil {
		p.byName = map[string]*cachedValue[T]{}
	}
	if v := p.byName[c.Name]; v != nil && v.objects == c.Objects {
		return v
	}
	v := &cachedValue[T]{lock: semaphore.NewWeighted(1), objects: c.Objects}
	p.byName[c.Name] = v
	return v
}
