package declcfg

import (
	"encoding/binary"
	"slices"
	"sync"

	"github.com/blang/semver/v4"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/document"
)

// A packedPackage holds the objects of a package in bytes: about 100 for a bundle with its entries in channels, a fifth
// of a [PackageIndex], and without pointers that the garbage collector follows.
type packedPackage struct {
	name     string
	packages []Indexed[Package] // not packed

	channels int // number of objects
	bundles  int

	values packer  // schema, name and value of each other object, in the order read
	places packer  // the rest of each Meta
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
	w.number(slices.Index(packedSchemas, m.Schema))
	w.textLike(&w.name, m.Name)
	w.textUnless(m.Package, p.name)
	switch v := v.(type) {
	case *Channel:
		p.channels++
		w.flag(true)
		w.textUnless(v.Name, m.Name)
		w.textUnless(v.Package, m.Package)
		w.number(len(v.Entries))
		for _, e := range v.Entries {
			w.textLike(&w.name, e.Name)
			w.textLike(&w.name, e.Replaces)
			w.text(e.SkipRange)
			w.text(string(e.Unknown))
			w.number(len(e.Skips))
			for _, name := range e.Skips {
				w.textLike(&w.name, name)
			}
		}
	case *BundleSummary:
		p.bundles++
		w.flag(true)
		w.bundle(v, m.Name)
	case *Deprecations:
		w.flag(true)
		w.textUnless(v.Package, m.Package)
		w.number(len(v.Entries))
		for _, e := range v.Entries {
			w.text(e.Reference.Schema)
			w.text(e.Reference.Name)
			w.text(e.Message)
		}
	default:
		w.flag(false)
	}
	p.place(m)
}

// place adds the position and the source of an object.
func (p *packedPackage) place(m *Meta) {
	w, s := &p.places, &m.src
	if s.file == nil {
		p.loose = append(p.loose, m)
		w.number(0)
		return
	}
	if n := len(p.files); n == 0 || p.files[n-1] != s.file {
		p.files = append(p.files, s.file)
	}
	for _, n := range []int{
		len(p.files), m.Pos.Line, m.Pos.Column, int(s.off), s.size, s.start.Line, s.start.Column,
	} {
		w.number(n)
	}
	w.buf = binary.NativeEndian.AppendUint64(w.buf, s.sum)
	w.flag(s.yaml)
	w.flag(s.repaired)
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
		p.packages, p.values, p.places, p.files, p.loose = nil, packer{}, packer{}, nil, nil
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
	values := unpacker{rest: p.values.buf, shared: make(map[string]string, len(p.values.buf)/bytesPerText)}
	places := unpacker{rest: p.places.buf}
	loose := p.loose
	for len(values.rest) > 0 {
		o := &unpackedObject{} // one for all parts: few objects outlive the others of their package
		m := &o.meta
		m.Schema, m.Name = packedSchemas[values.number()], values.textLike(&values.name)
		m.Package = values.textOr(p.name)
		v := values.value(o)
		if n := places.number(); n == 0 {
			m, loose = loose[0], loose[1:]
		} else {
			f := p.files[n-1]
			m.Pos = Pos{File: f.label, Line: places.number(), Column: places.number()}
			m.src = source{file: f, off: int64(places.number()), size: places.number()}
			m.src.start = document.Place{Line: places.number(), Column: places.number()}
			m.src.sum = binary.NativeEndian.Uint64(places.rest)
			places.rest = places.rest[8:]
			m.src.yaml, m.src.repaired = places.flag(), places.flag()
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

// value returns the value of an object whose names and schema are set; nil if it has none.
func (u *unpacker) value(o *unpackedObject) any {
	if !u.flag() {
		return nil
	}
	m := &o.meta
	switch m.Schema {
	case SchemaChannel:
		c := &Channel{Schema: m.Schema, Name: u.textOr(m.Name), Package: u.textOr(m.Package)}
		c.Entries = listOf[Entry](u)
		for i := range c.Entries {
			e := &c.Entries[i]
			e.Name, e.Replaces, e.SkipRange = u.textLike(&u.name), u.textLike(&u.name), u.text()
			if keys := u.text(); keys != "" {
				e.Unknown = jsontext.Value(keys)
			}
			e.Skips = listOf[string](u)
			for k := range e.Skips {
				e.Skips[k] = u.textLike(&u.name)
			}
		}
		return c
	case SchemaBundle:
		u.bundle(o)
		return &o.bundle
	}
	d := &Deprecations{Schema: m.Schema, Package: u.textOr(m.Package)}
	d.Entries = listOf[Deprecation](u)
	for i := range d.Entries {
		e := &d.Entries[i]
		e.Reference.Schema, e.Reference.Name, e.Message = u.text(), u.text(), u.text()
	}
	return d
}

// A packer has packed text, to which its methods add.
type packer struct {
	buf         []byte
	name, image string // the last ones
}

func (w *packer) number(n int) { w.buf = binary.AppendUvarint(w.buf, uint64(n)) }

func (w *packer) flag(set bool) {
	n := 0
	if set {
		n = 1
	}
	w.number(n)
}

func (w *packer) text(s string) {
	w.number(len(s))
	w.buf = append(w.buf, s...)
}

// textLike adds a text that usually begins like the last one of its kind, without this beginning.
func (w *packer) textLike(last *string, s string) {
	n := 0
	for n < min(len(s), len(*last)) && s[n] == (*last)[n] {
		n++
	}
	w.number(n)
	w.text(s[n:])
	if s != "" {
		*last = s
	}
}

// textUnless adds a text that usually has the value usual.
func (w *packer) textUnless(s, usual string) {
	w.flag(s == usual)
	if s != usual {
		w.text(s)
	}
}

func (w *packer) bundle(b *BundleSummary, name string) {
	w.textUnless(b.Name, name)
	w.textLike(&w.image, b.Image)
	w.text(b.Dependency)
	w.flag(b.Deprecated)
	w.flag(b.Version != nil)
	if b.Version == nil {
		return
	}
	v := b.Version.Semver
	for _, n := range []uint64{v.Major, v.Minor, v.Patch} {
		w.buf = binary.AppendUvarint(w.buf, n)
	}
	more := len(v.Pre) + len(v.Build) + len(b.Version.Release)
	w.flag(more > 0)
	if more > 0 { // few have more
		w.text(v.String())
		w.text(b.Version.Release.String())
	}
}

// An unpacker reads the text of a packer, in the same order.
type unpacker struct {
	rest        []byte
	shared      map[string]string // equal texts share their memory: most bundles are named by two entries
	name, image string            // the last ones
	whole       []byte            // memory of textLike
}

func (u *unpacker) number() int { return int(u.uint()) }

func (u *unpacker) uint() uint64 {
	n, size := binary.Uvarint(u.rest)
	u.rest = u.rest[size:]
	return n
}

// listOf reads the length of a list, and returns a list of that length; nil if it is 0.
func listOf[T any](u *unpacker) []T {
	if n := u.number(); n > 0 {
		return make([]T, n)
	}
	return nil
}

func (u *unpacker) flag() bool { return u.number() == 1 }

func (u *unpacker) text() string { return u.share(u.bytes()) }

func (u *unpacker) bytes() []byte {
	n := u.number()
	b := u.rest[:n]
	u.rest = u.rest[n:]
	return b
}

func (u *unpacker) share(b []byte) string {
	s, ok := u.shared[string(b)]
	if !ok {
		s = string(b)
		u.shared[s] = s
	}
	return s
}

func (u *unpacker) textLike(last *string) string {
	u.whole = append(u.whole[:0], (*last)[:u.number()]...)
	u.whole = append(u.whole, u.bytes()...)
	s := u.share(u.whole)
	if s != "" {
		*last = s
	}
	return s
}

func (u *unpacker) textOr(usual string) string {
	if u.flag() {
		return usual
	}
	return u.text()
}

func (u *unpacker) bundle(o *unpackedObject) {
	b := &o.bundle
	b.Name, b.Image, b.Dependency, b.Deprecated = u.textOr(o.meta.Name), u.textLike(&u.image), u.text(), u.flag()
	if !u.flag() {
		return
	}
	b.Version = &o.version
	o.version.Semver = semver.Version{Major: u.uint(), Minor: u.uint(), Patch: u.uint()}
	if u.flag() {
		o.version, _ = ParseVersion(u.text(), u.text()) // it was parsed before
	}
}
