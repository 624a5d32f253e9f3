package web

import (
	"io"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/semaphore"

	"github.com/opm-toolchain/opm/internal/pool"
)

// A coding is the compression of a body, as named in Content-Encoding.
type coding string

const (
	identity   coding = ""
	gzipCoding coding = "gzip"
	zstdCoding coding = "zstd"
)

// accepts reports whether a client accepts a coding: Accept-Encoding has the coding, or else *, with a weight above 0.
// All weights above 0 are equal.
func accepts(accepted []string, c coding) bool {
	everything := false
	for element := range strings.SplitSeq(strings.Join(accepted, ","), ",") {
		name, parameters, _ := strings.Cut(element, ";")
		switch name = strings.ToLower(strings.TrimSpace(name)); {
		case name == string(c), name == "x-gzip" && c == gzipCoding:
			return isAccepted(parameters)
		case name == "*":
			everything = isAccepted(parameters)
		}
	}
	return everything
}

// isAccepted reports whether the parameters of a coding, such as " q=0.5", have no weight, or one above 0.
func isAccepted(parameters string) bool {
	for parameter := range strings.SplitSeq(parameters, ";") {
		key, value, _ := strings.Cut(parameter, "=")
		if strings.EqualFold(strings.TrimSpace(key), "q") {
			weight, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return err == nil && weight > 0
		}
	}
	return true
}

// encoders compress responses, a limited number at a time.
type encoders struct {
	slots      *semaphore.Weighted // one for each response
	gzip, zstd *pool.Pool[encoder]
}

type encoder interface {
	io.WriteCloser
	Reset(io.Writer)
}

func newEncoders(n int) *encoders {
	release := func(e encoder) (encoder, bool) {
		e.Reset(nil)
		return e, true
	}
	newGzip := func() encoder { return must(gzip.NewWriterLevel(nil, gzip.DefaultCompression)) }
	newZstd := func() encoder { // with a small window, because many clients may need an encoder at once
		return must(zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(256<<10), zstd.WithLowerEncoderMem(true)))
	}
	return &encoders{semaphore.NewWeighted(int64(n)), pool.New(n, newGzip, release), pool.New(n, newZstd, release)}
}

func (e *encoders) encode(w io.Writer, c coding, write func(io.Writer) error) error {
	kept := e.zstd
	if c == gzipCoding {
		kept = e.gzip
	}
	enc := kept.Get()
	enc.Reset(w)
	err := write(enc)
	if err == nil {
		err = enc.Close()
	}
	kept.Put(enc)
	return err
}

func must[E encoder](e E, err error) encoder {
	if err != nil { // the options are wrong
		panic(err)
	}
	return e
}
