package declcfg

import (
	"encoding/binary"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// A packedPackage holds the objects of a package in bytes: about 100 for a bundle with its entries in channels, a fifth
// of a [PackageIndex], and without pointers that the garbage collector follows.
type packedPackage struct {
	name     string
	packages []Indexed[Package] // not packed

	channels int // number of objects
	bundles  int

	values coder   // schema, name and value of each other object, in the order read
	places coder   // the rest of each Meta
	files  []*file // which places refer to, counted from 1
	loose  []*Meta // of objects that are in no file

	mu     sync.Mutex
	loaded *PackageIndex // has replaced the bytes, if not nil
}

// packedSchemas are the schemas of packed objects.
var packedSchemas = []string{SchemaChannel, SchemaBundle, SchemaDeprecations}

// add adds an object of one of the schemas.
func (p *packedPackage) add(m *Meta, v any) {
	if p.loaded != nil {
		p.loaded.add(m, v)
		return
	}
	if m.Schema == SchemaPackage {
		p.packages = append(p.packages, indexed[Package](m, v))
		return
	}
	w := &p.values
	w.head(m, p.name)
	isDecoded := v != nil
	w.flag(&isDecoded)
	switch v := v.(type) {
	case *Channel:
		p.channels++
		w.channel(v, m)
	case *BundleSummary:
		p.bundles++
		w.bundle(v, m)
	case *Deprecations:
		w.deprecations(v, m)
	}
	p.place(m)
}

// place adds the position and the source of an object.
func (p *packedPackage) place(m *Meta) {
	n := 0 // of its file
	if f := m.src.file; f == nil {
		p.loose = append(p.loose, m)
	} else {
		if len(p.files) == 0 || p.files[len(p.files)-1] != f {
			p.files = append(p.files, f)
		}
		n = len(p.files)
	}
	if number(&p.places, &n); n > 0 {
		p.places.place(m)
	}
}

func (p *packedPackage) definitions() []Indexed[Package] {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.loaded != nil {
		return p.loaded.Packages
	}
	return p.packages
}

// load returns the package, and keeps it instead of the bytes.
func (p *packedPackage) load() *PackageIndex {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.loaded == nil {
		p.loaded = p.unpack()
		p.packages, p.values, p.places, p.files, p.loose = nil, coder{}, coder{}, nil, nil
	}
	return p.loaded
}

// view returns the package, which is not kept if it was not loaded.
func (p *packedPackage) view() *PackageIndex {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.loaded == nil {
		return p.unpack()
	}
	return p.loaded
}

func (p *packedPackage) unpack() *PackageIndex {
	x := &PackageIndex{Name: p.name, Packages: slices.Clip(p.packages)}
	x.Channels = make([]Indexed[Channel], 0, p.channels)
	x.Bundles = make([]Indexed[BundleSummary], 0, p.bundles)
	values := coder{reads: true, buf: p.values.buf, shared: make(map[string]string, len(p.values.buf)/bytesPerText)}
	places := coder{reads: true, buf: p.places.buf}
	loose := p.loose
	for len(values.buf) > 0 {
		o := &unpackedObject{} // one for all parts: few objects outlive the others of their package
		m := &o.meta
		values.head(m, p.name)
		v := values.value(o)
		n := 0
		if number(&places, &n); n == 0 {
			m, loose = loose[0], loose[1:]
		} else {
			m.src.file = p.files[n-1]
			m.Pos.File = m.src.file.label
			places.place(m)
		}
		x.add(m, v)
	}
	return x
}

// bytesPerText is about the number of packed bytes for each text that unpacking shares.
const bytesPerText = 50

type unpackedObject struct {
	meta    Meta
	bundle  BundleSummary
	version Version
}

// value reads the value of an object whose head is read; nil if it has none.
func (c *coder) value(o *unpackedObject) any {
	isDecoded := false
	if c.flag(&isDecoded); !isDecoded {
		return nil
	}
	m := &o.meta
	switch m.Schema {
	case SchemaChannel:
		v := &Channel{Schema: m.Schema}
		c.channel(v, m)
		return v
	case SchemaBundle:
		o.bundle.Version = &o.version
		c.bundle(&o.bundle, m)
		return &o.bundle
	}
	v := &Deprecations{Schema: m.Schema}
	c.deprecations(v, m)
	return v
}

// A coder has packed text. Its methods add a value to it or, if it reads, set the value to the next one, so that each
// field is named once.
type coder struct {
	buf   []byte // the unread part, if it reads
	reads bool

	name, image string            // the last ones
	shared      map[string]string // equal texts that are read share their memory: most bundles are named by two entries
	whole       []byte            // memory of textLike
}

func (c *coder) head(m *Meta, pkg string) {
	schema := slices.Index(packedSchemas, m.Schema)
	number(c, &schema)
	if c.reads {
		m.Schema = packedSchemas[schema]
	}
	c.textLike(&c.name, &m.Name)
	c.textUnless(&m.Package, pkg)
}

func (c *coder) place(m *Meta) {
	s := &m.src
	for _, n := range []*int{&m.Pos.Line, &m.Pos.Column, &s.size, &s.start.Line, &s.start.Column} {
		number(c, n)
	}
	number(c, &s.off)
	c.sum(&s.sum)
	c.flag(&s.yaml)
	c.flag(&s.repaired)
}

func (c *coder) channel(v *Channel, m *Meta) {
	c.textUnless(&v.Name, m.Name)
	c.textUnless(&v.Package, m.Package)
	list(c, &v.Entries, (*coder).entry)
}

func (c *coder) entry(e *Entry) {
	c.textLike(&c.name, &e.Name)
	c.textLike(&c.name, &e.Replaces)
	c.text(&e.SkipRange)
	c.json(&e.Unknown)
	list(c, &e.Skips, func(c *coder, name *string) { c.textLike(&c.name, name) })
}

func (c *coder) deprecations(v *Deprecations, m *Meta) {
	c.textUnless(&v.Package, m.Package)
	list(c, &v.Entries, func(c *coder, e *Deprecation) {
		c.text(&e.Reference.Schema)
		c.text(&e.Reference.Name)
		c.text(&e.Message)
	})
}

func (c *coder) bundle(b *BundleSummary, m *Meta) {
	c.textUnless(&b.Name, m.Name)
	c.textLike(&c.image, &b.Image)
	c.text(&b.Dependency)
	c.flag(&b.Deprecated)
	hasVersion := b.Version != nil
	if c.flag(&hasVersion); !hasVersion {
		b.Version = nil
		return
	}
	v := &b.Version.Semver
	number(c, &v.Major)
	number(c, &v.Minor)
	number(c, &v.Patch)
	hasMore := len(v.Pre)+len(v.Build)+len(b.Version.Release) > 0
	if c.flag(&hasMore); hasMore { // few have more
		version, release := v.String(), b.Version.Release.String()
		c.text(&version)
		c.text(&release)
		if c.reads {
			*b.Version, _ = ParseVersion(version, release) // it was parsed before
		}
	}
}

func number[N int | int64 | uint64](c *coder, n *N) {
	if !c.reads {
		c.buf = binary.AppendUvarint(c.buf, uint64(*n))
		return
	}
	read, size := binary.Uvarint(c.buf)
	*n, c.buf = N(read), c.buf[size:]
}

// sum is a number with all its bytes.
func (c *coder) sum(n *uint64) {
	if !c.reads {
		c.buf = binary.NativeEndian.AppendUint64(c.buf, *n)
		return
	}
	*n, c.buf = binary.NativeEndian.Uint64(c.buf), c.buf[8:]
}

func (c *coder) flag(isSet *bool) {
	n := 0
	if *isSet {
		n = 1
	}
	number(c, &n)
	if c.reads {
		*isSet = n == 1
	}
}

// list is a list. An empty list is read as nil.
func list[T any](c *coder, items *[]T, item func(*coder, *T)) {
	n := len(*items)
	number(c, &n)
	if c.reads && n > 0 {
		*items = make([]T, n)
	}
	for i := range *items {
		item(c, &(*items)[i])
	}
}

func (c *coder) text(s *string) {
	if c.reads {
		*s = c.share(c.bytes())
		return
	}
	c.add(*s)
}

// json is JSON. Empty JSON is read as nil.
func (c *coder) json(v *jsontext.Value) {
	text := string(*v)
	if c.text(&text); c.reads && text != "" {
		*v = jsontext.Value(text)
	}
}

// textLike is a text that usually begins like the last one of its kind, and is packed without this beginning.
func (c *coder) textLike(last, s *string) {
	n := 0
	for !c.reads && n < min(len(*s), len(*last)) && (*s)[n] == (*last)[n] {
		n++
	}
	number(c, &n)
	if c.reads {
		c.whole = append(c.whole[:0], (*last)[:n]...)
		c.whole = append(c.whole, c.bytes()...)
		*s = c.share(c.whole)
	} else {
		c.add((*s)[n:])
	}
	if *s != "" {
		*last = *s
	}
}

// textUnless is a text that usually has the value usual.
func (c *coder) textUnless(s *string, usual string) {
	isUsual := *s == usual
	switch c.flag(&isUsual); {
	case !isUsual:
		c.text(s)
	case c.reads:
		*s = usual
	}
}

func (c *coder) add(s string) {
	n := len(s)
	number(c, &n)
	c.buf = append(c.buf, s...)
}

func (c *coder) bytes() []byte {
	n := 0
	number(c, &n)
	b := c.buf[:n]
	c.buf = c.buf[n:]
	return b
}

func (c *coder) share(b []byte) string {
	s, ok := c.shared[string(b)]
	if !ok {
		s = string(b)
		c.shared[s] = s
	}
	return s
}
