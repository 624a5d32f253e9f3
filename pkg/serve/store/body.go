package store

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// A body is what the record of a bundle holds; see doc.go.
type body struct {
	fields  []byte
	objects [][]byte
	csv     uint64    // the place in objects of the ClusterServiceVersion, from 1; 0 where it is not among them
	parts   []csvPart // of one that was made up
}

// A csvPart is a part of the text of a ClusterServiceVersion.
type csvPart struct {
	text   []byte
	record optional[recordRow] // that has the text, instead of text
}

func parseBody(data []byte, p packageRow) (b body, err error) {
	for len(data) > 0 {
		var f wireField
		if f, data, err = nextField(data); err != nil {
			return b, err
		}
		switch f.number {
		case bodyFields:
			b.fields = f.value
		case bodyObject:
			b.objects = append(b.objects, f.value)
		case bodyCSV:
			b.csv = f.varint
		case bodyText:
			b.parts = append(b.parts, csvPart{text: f.value})
		case bodyDescription:
			b.parts = append(b.parts, csvPart{record: p.Description})
		case bodyIcon:
			b.parts = append(b.parts, csvPart{record: p.Icon})
		}
	}
	if b.csv > uint64(len(b.objects)) {
		return b, errWire
	}
	return b, nil
}

// body appends the fields of an api.Bundle that are the same in every channel, or its manifests alone.
func (s *Store) body(dst []byte, row bundleRow, fields bool) ([]byte, error) {
	buf := buffers.Get()
	defer func() { buffers.Put(buf) }()
	var err error
	if buf, err = s.record(buf, row.Body); err != nil {
		return dst, err
	}
	b, err := parseBody(buf, s.index.Packages[row.Package])
	if err != nil {
		return dst, dataLoss(s.index.Records[row.Body], err)
	}
	if fields {
		dst = append(dst, b.fields...)
	}
	return s.appendManifests(dst, b)
}

func (s *Store) appendManifests(dst []byte, b body) ([]byte, error) {
	from, csv := len(dst), 0
	switch {
	case b.csv > 0:
		dst = appendField(dst, bundleCSVJSON, b.objects[b.csv-1])
	case len(b.parts) > 0:
		var err error
		if dst, csv, err = s.appendParts(dst, b.parts); err != nil {
			return dst[:from], err
		}
	}
	for _, o := range b.objects {
		dst = appendField(dst, bundleObject, o)
	}
	if len(b.objects) == 0 && csv > 0 {
		dst = appendField(dst, bundleObject, dst[len(dst)-csv:])
	}
	return dst, nil
}

// maxAnswer bounds what is set aside for an answer before its parts were read: as much as clients of gRPC take.
const maxAnswer = 4 << 20

// appendParts appends a ClusterServiceVersion that was made up, and returns the size of its text.
func (s *Store) appendParts(dst []byte, parts []csvPart) ([]byte, int, error) {
	size := 0
	for _, p := range parts {
		size += len(p.text)
		if i, ok := p.record.get(); ok {
			size += s.index.Records[i].contentSize()
		}
	}
	// Its place in the message is here and, nearly always, in the list of objects. That a record is as large as the index
	// says is known when it is read.
	dst = slices.Grow(dst, min(2*(protowire.SizeTag(bundleObject)+protowire.SizeBytes(size)), maxAnswer))
	dst = protowire.AppendTag(dst, bundleCSVJSON, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(size))
	for _, p := range parts {
		dst = append(dst, p.text...)
		if i, ok := p.record.get(); ok {
			var err error
			if dst, err = s.record(dst, i); err != nil {
				return dst, 0, err
			}
		}
	}
	return dst, size, nil
}
