package store

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"math"
	"runtime"
	"sync"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"github.com/opm-toolchain/opm/internal/pool"
	"github.com/opm-toolchain/opm/internal/serve/store/internal/index"
)

type record struct {
	data    []byte
	content int // size of the uncompressed data; 0 if data is not compressed
	sum     uint64
}

// A packer makes records. It is safe for concurrent use, and is freed after the build.
type packer struct {
	encoder *zstd.Encoder
	buffers *pool.Pool[[]byte]
}

func newPacker() *packer {
	e := must(zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true),
		zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(1<<20)))
	// A goroutine uses two buffers at once. Larger buffers serve few bundles, and are not kept.
	return &packer{e, pool.Bytes(2*runtime.GOMAXPROCS(0), minBuffer, 2<<20)}
}

// record returns content as a record. It is compressed if that saves at least a third; otherwise decompressing would
// take longer than reading.
func (p *packer) record(content []byte) record {
	buf := p.buffers.Get()
	defer func() { p.buffers.Put(buf) }()
	buf = s2.Encode(buf[:cap(buf)], content)
	if len(buf) <= len(content)/3*2 && len(content)/maxRatio <= len(buf) {
		data := bytes.Clone(buf)
		return record{data, len(content), xxhash.Sum64(data)}
	}
	return stored(bytes.Clone(content))
}

// size returns the number of bytes that unpack appends.
func (r record) size() int { return cmp.Or(r.content, len(r.data)) }

// unpack appends the content of a record that is not a frame.
func (r record) unpack(dst []byte) ([]byte, error) {
	if r.content == 0 {
		return append(dst, r.data...), nil
	}
	return appendBlock(dst, r.data, r.content)
}

func stored(data []byte) record { return record{data: data, sum: xxhash.Sum64(data)} }

// frame returns content, which must not be empty, as a record in zstd.
func (p *packer) frame(content []byte) record {
	data := p.encoder.EncodeAll(content, make([]byte, 0, len(content)/3))
	return record{data, len(content), xxhash.Sum64(data)}
}

type recorder struct {
	w      *bufio.Writer
	offset uint64
	index  *index.Index
}

// Write writes data unchanged.
func (r *recorder) Write(data []byte) (int, error) {
	n, err := r.w.Write(data)
	r.offset += uint64(n)
	return n, err
}

// add writes a record, and returns its number.
func (r *recorder) add(rec record) (uint32, error) {
	if uint64(len(rec.data)) > math.MaxUint32 || uint64(rec.content) > math.MaxUint32 {
		return 0, fmt.Errorf("an object of %d bytes is too large to be stored", max(len(rec.data), rec.content))
	}
	number := len(r.index.RecordSize)
	r.index.RecordSize = append(r.index.RecordSize, uint32(len(rec.data)))
	r.index.RecordContent = append(r.index.RecordContent, uint32(rec.content))
	r.index.RecordSum = append(r.index.RecordSum, rec.sum)
	_, err := r.Write(rec.data)
	return uint32(number), err
}

func (r *recorder) finish() error {
	data, err := encodeIndex(r.index)
	if err != nil {
		return err
	}
	f := footer{offset: r.offset, size: uint64(len(data)), sum: xxhash.Sum64(data)}
	f.fileSize = f.offset + f.size + footerSize
	if _, err := r.Write(f.append(data)); err != nil {
		return err
	}
	return r.w.Flush()
}

var buffers = pool.Bytes(8, minBuffer, 512<<10)

// minBuffer is enough for most bundles.
const minBuffer = 64 << 10

// decoder decompresses records. It is safe for concurrent use.
var decoder = sync.OnceValue(func() *zstd.Decoder {
	return must(zstd.NewReader(nil, zstd.WithDecoderConcurrency(runtime.GOMAXPROCS(0)), zstd.WithDecoderLowmem(true),
		zstd.WithDecodeAllCapLimit(true)))
})

// must returns v. It panics on an error, which constant options and encodable values cannot cause.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
