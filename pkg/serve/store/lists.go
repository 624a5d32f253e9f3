package store

import (
	"context"
	"iter"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/opm-toolchain/opm/internal/parallel"
)

// listSize is about how many bytes of messages are in one record of a list.
const listSize = 64 << 10

// writeLists writes the messages of ListBundles.
func (b *builder) writeLists(ctx context.Context) error {
	type list struct {
		record   record
		messages int
	}
	encode := func(entries []*builtEntry) list {
		buf := b.packer.buffers.Get()
		defer func() { b.packer.buffers.Put(buf) }()
		for _, e := range entries {
			buf = e.appendTo(buf)
		}
		return list{b.packer.frame(buf), len(entries)}
	}
	for l := range parallel.Map(ctx, 0, runs(b.byChannel), encode) {
		id, err := b.records.add(l.record)
		if err != nil {
			return err
		}
		b.data.add(tLists, id, uint32(l.messages))
	}
	return ctx.Err()
}

// runs cuts entries into runs of about listSize.
func runs(entries []*builtEntry) iter.Seq[[]*builtEntry] {
	return func(yield func([]*builtEntry) bool) {
		for len(entries) > 0 {
			n, size := 0, 0
			for n < len(entries) && size < listSize {
				size += entries[n].size()
				n++
			}
			if !yield(entries[:n]) {
				return
			}
			entries = entries[n:]
		}
	}
}

// size returns the size of the message of e, without its length.
func (e *builtEntry) size() int {
	size := len(e.bundle.fields) + sizeIf(bundleChannelName, len(e.channel)) +
		sizeIf(bundleSkipRange, len(e.entry.SkipRange)) + sizeIf(bundleReplaces, len(e.entry.Replaces))
	for _, s := range e.entry.Skips {
		size += sizeOf(bundleSkips, len(s))
	}
	if e.deprecation != nil {
		size += sizeOf(bundleDeprecation, sizeIf(deprecationMessage, len(*e.deprecation)))
	}
	return size
}

// appendTo appends an api.Bundle as ListBundles has it, but for its manifests, and its length before it.
func (e *builtEntry) appendTo(dst []byte) []byte {
	dst = protowire.AppendVarint(dst, uint64(e.size()))
	dst = append(dst, e.bundle.fields...)
	dst = appendIf(dst, bundleChannelName, e.channel)
	dst = appendIf(dst, bundleSkipRange, e.entry.SkipRange)
	dst = appendIf(dst, bundleReplaces, e.entry.Replaces)
	for _, s := range e.entry.Skips {
		dst = appendField(dst, bundleSkips, s)
	}
	if e.deprecation != nil {
		dst = appendDeprecation(dst, bundleDeprecation, *e.deprecation)
	}
	return dst
}
