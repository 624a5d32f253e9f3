package store

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/opm-toolchain/opm/pkg/api"
)

// A Bundle is a bundle in a channel of a [Store].
type Bundle struct {
	store   *Store
	channel string
	entry   uint32
}

// Bundle returns a bundle of a channel.
func (s *Store) Bundle(pkg, channel, name string) (Bundle, error) {
	c, err := s.channel(pkg, channel)
	if err != nil {
		return Bundle{}, err
	}
	e, ok := s.entry(c, name)
	if !ok {
		return Bundle{}, notFound("package %q, channel %q, bundle %q not found", pkg, channel, name)
	}
	return Bundle{s, channel, e}, nil
}

// Size returns the number of bytes that [Bundle.Message] needs. It reads only the index.
func (b Bundle) Size() int {
	s := b.store
	bundle := s.index.EntryBundle[b.entry]
	p := s.index.Packages[s.index.BundlePackage[bundle]]
	size := s.records[s.index.BundleBody[bundle]].contentSize()
	for _, text := range []uint32{p.Description, p.Icon} {
		if text > 0 {
			size += s.records[text-1].contentSize()
		}
	}
	return size
}

// Message returns the encoded api.Bundle that GetBundle returns, in consecutive parts: with manifests, and without
// replaces and skips. The parts share the memory of buf, which must be empty, or new memory if the capacity of buf is
// less than Size.
func (b Bundle) Message(buf []byte) ([][]byte, error) {
	x := b.store.index
	bundle := x.EntryBundle[b.entry]
	own, err := proto.Marshal(&api.Bundle{
		ChannelName: b.channel, SkipRange: x.Strings[x.EntrySkipRange[b.entry]],
		Deprecation: b.store.deprecation(x.BundleDeprecation[bundle]),
	})
	if err != nil {
		return nil, err
	}
	content, err := b.store.body(slices.Grow(buf, b.Size()), bundle)
	if err != nil {
		return nil, err
	}
	return content.appendManifests([][]byte{own, content.fields}), nil
}

// A body is the content of the record of a bundle; see doc.go.
type body struct {
	fields  []byte
	objects [][]byte // each is a field of an api.Bundle
	csv     [][]byte // the parts of the text of the ClusterServiceVersion
}

// body reads the body of a bundle, and the records that it refers to, into buf.
func (s *Store) body(buf []byte, bundle uint32) (b body, err error) {
	record := s.index.BundleBody[bundle]
	if buf, err = s.record(buf[:0], record); err != nil {
		return b, err
	}
	var csv uint64
	var values [][]byte // of objects
	p := s.index.Packages[s.index.BundlePackage[bundle]]
	for data := buf; len(data) > 0; {
		f, rest, err := nextField(data)
		if err != nil {
			return b, dataLoss(s.records[record], err)
		}
		switch f.number {
		case bodyFields:
			b.fields = f.value
		case bodyObject:
			b.objects = append(b.objects, data[:len(data)-len(rest)])
			values = append(values, f.value)
		case bodyCSV:
			csv = f.varint
		case bodyText:
			b.csv = append(b.csv, f.value)
		case bodyDescription:
			buf, err = s.appendText(&b, buf, p.Description)
		case bodyIcon:
			buf, err = s.appendText(&b, buf, p.Icon)
		}
		if err != nil {
			return b, err
		}
		data = rest
	}
	if csv > uint64(len(values)) {
		return b, dataLoss(s.records[record], errWire)
	}
	if csv > 0 {
		b.csv = values[csv-1 : csv]
	}
	return b, nil
}

// appendText reads a text of a package into buf and adds it to the ClusterServiceVersion of b. The text is the number
// of its record plus one, or 0 for none.
func (s *Store) appendText(b *body, buf []byte, text uint32) ([]byte, error) {
	if text == 0 {
		return buf, nil
	}
	from := len(buf)
	buf, err := s.record(buf, text-1)
	if err == nil {
		b.csv = append(b.csv, buf[from:])
	}
	return buf, err
}

// appendManifests appends the fields of an api.Bundle that contain the manifests, in parts.
func (b body) appendManifests(parts [][]byte) [][]byte {
	parts = b.appendCSV(parts, bundleCSVJSON)
	if len(b.objects) == 0 {
		return b.appendCSV(parts, bundleObject)
	}
	return append(parts, b.objects...)
}

// appendCSV appends the ClusterServiceVersion, if there is one, as a field.
func (b body) appendCSV(parts [][]byte, number protowire.Number) [][]byte {
	size := 0
	for _, text := range b.csv {
		size += len(text)
	}
	if size == 0 {
		return parts
	}
	head := protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.BytesType), uint64(size))
	return append(append(parts, head), b.csv...)
}
