package search

import (
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/klauspost/compress/s2"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// An Index holds the values of a catalog that [Search] reads, compressed, each once per package. Its size is about a
// hundredth of the catalog, and searching it does not read the catalog. It is safe for concurrent use.
type Index struct {
	blocks []block // sorted by package
}

// A block holds the compressed values of successive objects of a package. It starts with a text that has the name,
// version and release of each bundle. Up to the end follow, for each value, its field, its text, the number of bundles
// that have it, and the index of each of these bundles in the block. Numbers are varints, and texts are preceded by
// their length.
type block struct {
	pkg        string
	compressed []byte
}

// blockSize is the number of bytes of values after which a block ends.
const blockSize = 256 << 10

// ErrTooLarge is returned for a catalog whose [Index] would use too much memory.
var ErrTooLarge = errors.New("the catalog is too large to be searched")

// NewIndex returns the index of objects, without keeping them. The error is the first error of objects, or
// [ErrTooLarge] if the index would use more than limit bytes.
func NewIndex(objects iter.Seq2[*declcfg.Object, error], limit int) (*Index, error) {
	x := &Index{}
	w := indexWriter{}
	size := 0
	flush := func() error {
		if b, ok := w.block(); ok {
			x.blocks = append(x.blocks, b)
			size += len(b.compressed)
		}
		if size > limit {
			return ErrTooLarge
		}
		return nil
	}
	for o, err := range objects {
		if err != nil {
			return nil, err
		}
		if w.size >= blockSize || w.pkg != o.Owner() {
			if err := flush(); err != nil {
				return nil, err
			}
		}
		if err := w.add(o); err != nil {
			return nil, err
		}
	}
	if err := flush(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(x.blocks, func(a, b block) int { return strings.Compare(a.pkg, b.pkg) })
	return x, nil
}

// PackageSize returns the size of the values of a package in bytes, or, if its name is "", of the package with the
// most: the maximum size of the matches of one package.
func (x *Index) PackageSize(name string) int {
	largest, size := 0, 0
	for i, b := range x.blocks {
		if i == 0 || b.pkg != x.blocks[i-1].pkg {
			size = 0
		}
		if name == "" || b.pkg == name {
			n, _ := s2.DecodedLen(b.compressed) // this program has encoded it
			size += n
		}
		largest = max(largest, size)
	}
	return largest
}

// Search returns the results of [Search] in the catalog, in the same order. For each package, it returns at most limit
// matches, the first ones, and the number of all matches; 0 means no limit.
func (x *Index) Search(ctx context.Context, text, pkg string, limit int) ([]PackageMatches, error) {
	for _, s := range searchers(text, pkg) {
		if found, err := x.search(ctx, s, limit); len(found) > 0 || err != nil {
			return found, err
		}
	}
	return nil, nil
}

func (x *Index) search(ctx context.Context, s searcher, limit int) ([]PackageMatches, error) {
	var r ranking
	var buf []byte
	for rest := x.blocks; len(rest) > 0; {
		c := collector{pkg: rest[0].pkg}
		for len(rest) > 0 && rest[0].pkg == c.pkg {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if s.pkg == "" || s.pkg == c.pkg {
				var err error
				if buf, err = s.searchBlock(&c, rest[0], buf); err != nil {
					return nil, err
				}
			}
			rest = rest[1:]
		}
		p := c.matches(s.every())
		if limit > 0 && p.Count > limit {
			p.Matches = slices.Clone(p.Matches[:limit]) // release the others
		}
		if limit > 0 {
			for i := range p.Matches {
				p.Matches[i].Value = strings.Clone(p.Matches[i].Value) // release the block
			}
		}
		r.add(p)
	}
	return r.all(), nil
}

// searchBlock adds the matches in a block to c. It decompresses the block into buf, and returns the buffer for the next
// block.
func (s searcher) searchBlock(c *collector, b block, buf []byte) ([]byte, error) {
	data, err := s2.Decode(buf[:cap(buf)], b.compressed)
	if err != nil {
		return nil, err
	}
	in := blockReader(data)
	table := blockReader(in.text())
	var bundles []BundleByName // decoded from the table on the first match
	inPackage := s.in(b.pkg)
	for in != "" {
		value := fieldText{fields[in.number()], in.text()}
		found := s.find(inPackage, value)
		having := make([]BundleByName, 0, in.number())
		for range cap(having) {
			n := in.number()
			if len(found) == 0 {
				continue
			}
			if bundles == nil {
				bundles = table.bundles()
			}
			having = append(having, bundles[n])
		}
		c.add(found, having)
	}
	return data, nil
}

// A blockReader is the unread part of a block. Returned texts share memory with it; bundles do not.
type blockReader string

func (r *blockReader) number() int {
	n := 0
	for i := range len(*r) {
		b := (*r)[i]
		n |= int(b&0x7f) << (7 * i)
		if b < 0x80 {
			*r = (*r)[i+1:]
			break
		}
	}
	return n
}

func (r *blockReader) text() string {
	n := r.number()
	text := (*r)[:n]
	*r = (*r)[n:]
	return string(text)
}

func (r *blockReader) bundles() (all []BundleByName) {
	for *r != "" {
		b := BundleByName{Name: strings.Clone(r.text())}
		version, release := r.text(), r.text()
		if v, err := declcfg.ParseVersion(version, release); version != "" && err == nil {
			b.Version, b.version = v.String(), &v
		}
		all = append(all, b)
	}
	return all
}

// An indexWriter builds blocks.
type indexWriter struct {
	pkg     string
	bundles []byte // in the format of the block
	count   int    // number of bundles
	values  []indexedValue
	at      map[fieldText]int // index in values
	size    int               // size in bytes of the texts of bundles and values
}

// An indexedValue is a value, and the indexes of the bundles that have it.
type indexedValue struct {
	fieldText
	bundles []int
}

// add adds the values of an object.
func (w *indexWriter) add(o *declcfg.Object) error {
	t, err := textsOf(o)
	if err != nil || len(t.texts) == 0 {
		return err
	}
	if w.at == nil {
		w.at = map[fieldText]int{}
	}
	w.pkg = strings.Clone(o.Owner())
	if t.bundle != nil {
		var version, release string
		if v := t.bundle.Summarize().Version; v != nil {
			version, release = v.Semver.String(), v.Release.String()
		}
		before := len(w.bundles)
		for _, text := range []string{t.bundle.Name, version, release} {
			w.bundles = appendText(w.bundles, text)
		}
		w.size += len(w.bundles) - before
		w.count++
	}
	for _, v := range t.texts {
		i, ok := w.at[v]
		if !ok {
			i = len(w.values)
			v.text = strings.Clone(v.text) // v.text shares memory with the object
			w.at[v] = i
			w.values = append(w.values, indexedValue{fieldText: v})
			w.size += len(v.text)
		}
		if t.bundle != nil {
			w.values[i].bundles = append(w.values[i].bundles, w.count-1)
		}
	}
	return nil
}

// block returns the block of the values added since the last block, if there are any.
func (w *indexWriter) block() (block, bool) {
	if len(w.values) == 0 {
		return block{}, false
	}
	data := appendText(nil, string(w.bundles))
	for _, v := range w.values {
		data = binary.AppendUvarint(data, uint64(slices.Index(fields, v.field)))
		data = appendText(data, v.text)
		data = binary.AppendUvarint(data, uint64(len(v.bundles)))
		for _, n := range v.bundles {
			data = binary.AppendUvarint(data, uint64(n))
		}
	}
	b := block{w.pkg, slices.Clip(s2.EncodeBetter(nil, data))}
	*w = indexWriter{}
	return b, true
}

func appendText(dst []byte, text string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}
