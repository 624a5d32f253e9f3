package store

import (
	"context"
	"iter"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/pkg/api"
)

// listSize is the approximate number of bytes of messages in one record of a list.
const listSize = 64 << 10

func (b *builder) writeLists(ctx context.Context) error {
	type list struct {
		record record
		run    run[entryRow]
		err    error
	}
	encode := func(entries []*builtEntry) list {
		buf := b.packer.buffers.Get()
		defer func() { b.packer.buffers.Put(buf) }()
		for _, e := range entries {
			var err error
			if buf, err = e.append(buf); err != nil {
				return list{err: err}
			}
		}
		return list{record: b.packer.record(buf), run: run[entryRow]{uint32(entries[0].row), uint32(len(entries))}}
	}
	for l := range parallel.Map(ctx, 0, runs(b.listed), encode) {
		if l.err != nil {
			return l.err
		}
		record, err := b.records.add(l.record)
		if err != nil {
			return err
		}
		add(&b.data.Lists, listRow{record, l.run})
	}
	return ctx.Err()
}

// runs splits entries into runs of about listSize.
func runs(entries []*builtEntry) iter.Seq[[]*builtEntry] {
	return func(yield func([]*builtEntry) bool) {
		for len(entries) > 0 {
			n, size := 0, 0
			for n < len(entries) && size < listSize {
				size += entries[n].bundle.fields.size()
				n++
			}
			if !yield(entries[:n]) {
				return
			}
			entries = entries[n:]
		}
	}
}

// append appends the api.Bundle of ListBundles without its manifests, preceded by its length.
func (e *builtEntry) append(dst []byte) ([]byte, error) {
	own := &api.Bundle{
		ChannelName: e.channel, SkipRange: e.entry.SkipRange, Replaces: e.entry.Replaces, Skips: e.entry.Skips,
		Deprecation: e.deprecation,
	}
	dst = protowire.AppendVarint(dst, uint64(e.bundle.fields.size()+proto.Size(own)))
	dst, err := e.bundle.fields.unpack(dst)
	if err != nil {
		return nil, err
	}
	return proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(dst, own)
}
