package store

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/s2"
	"google.golang.org/protobuf/proto"

	"github.com/opm-toolchain/opm/internal/serve/store/internal/index"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// reseal corrects the checksums of a file, if it has the structure of a store, so that the checks behind them are
// tested. With records, it also corrects the checksums of the records.
func reseal(data []byte, records bool) {
	if len(data) < headerSize+footerSize {
		return
	}
	order.PutUint64(data[headerSize-8:], xxhash.Sum64(data[:headerSize-8]))
	foot := data[len(data)-footerSize:]
	order.PutUint64(foot, uint64(len(data)))
	offset, size := order.Uint64(foot[8:]), order.Uint64(foot[16:])
	if end := uint64(len(data) - footerSize); offset <= end && size <= end-offset {
		encoded := data[offset : offset+size]
		x := &index.Index{}
		if err := proto.Unmarshal(encoded, x); err == nil && records {
			if all, err := placeRecords(x, offset); err == nil {
				for i, r := range all {
					x.RecordSum[i] = xxhash.Sum64(data[r.offset : r.offset+uint64(r.size)])
				}
				if again, err := encodeIndex(x); err == nil && len(again) == len(encoded) {
					copy(encoded, again)
				}
			}
		}
		order.PutUint64(foot[24:], xxhash.Sum64(encoded))
	}
	order.PutUint64(foot[32:], xxhash.Sum64(foot[:32]))
}

// askAll calls every query of a store, and fails the test on an unexpected error.
func askAll(t *testing.T, s *Store) {
	t.Helper()
	check := func(err error) {
		if err != nil && !errors.Is(err, ErrDataLoss) && !errors.Is(err, ErrNotFound) {
			t.Errorf("an error of its own: %v", err)
		}
	}
	texts := []string{"", "p", "c", "b1", "b2", "g", "v1", "K", "x.y", "olm.bundle"}
	for _, name := range append(texts, s.PackageNames()...) {
		_, err := s.Package(name)
		check(err)
		for _, err := range s.EntriesThatReplace(name) {
			check(err)
		}
		for _, err := range s.CustomMetas("x.y", name) {
			check(err)
		}
		for _, channel := range texts {
			_, err := s.ChannelHead(name, channel)
			check(err)
			_, err = s.Replacement("b1", name, channel)
			check(err)
			for _, bundle := range []string{"b1", "b2"} {
				_, err = s.BundleMessage(name, channel, bundle)
				check(err)
			}
		}
	}
	for _, err := range s.Bundles() {
		check(err)
	}
	for _, latest := range []bool{false, true} {
		for _, err := range s.EntriesThatProvide("g", "v1", "K", latest) {
			check(err)
		}
	}
	_, _, _, err := s.DefaultProvider("g", "v1", "K")
	check(err)
	for _, c := range s.Catalogs() {
		for _, q := range []Query{{}, {Schema: "olm.bundle"}, {Package: "p"}, {Name: "b1", Schema: "olm.bundle"}} {
			r := c.Query(q)
			_ = r.Size()
			for _, err := range r.Lines() {
				check(err)
			}
		}
		for _, r := range []*Reader{c.Plain(), c.Zstd(), c.Gzip()} {
			_, err := io.CopyN(io.Discard, r, 1<<20)
			if err != io.EOF {
				check(err)
			}
		}
	}
}

const small = `{"schema":"olm.package","name":"p","defaultChannel":"c","icon":{"base64data":"aWNvbg==","mediatype":"m"}}
{"schema":"olm.channel","package":"p","name":"c","entries":[{"name":"b2","replaces":"b1","skips":["b0"]},{"name":"b1"}]}
{"schema":"olm.bundle","package":"p","name":"b1","image":"i","properties":[
	{"type":"olm.package","value":{"packageName":"p","version":"1.0.0"}},
	{"type":"olm.gvk","value":{"group":"g","version":"v1","kind":"K"}},{"type":"olm.csv.metadata","value":{}}]}
{"schema":"olm.bundle","package":"p","name":"b2","properties":[
	{"type":"olm.package","value":{"packageName":"p","version":"2.0.0"}},
	{"type":"olm.bundle.object","value":{"data":"e30="}}]}
{"schema":"olm.deprecations","package":"p","entries":[{"reference":{"schema":"olm.bundle","name":"b1"},"message":"old"}]}
{"schema":"x.y","package":"p","z":1}
`

func smallStore(t testing.TB) ([]byte, Key) {
	t.Helper()
	src := declcfg.Source{Name: "c", FS: fstest.MapFS{"a.json": {Data: []byte(small)}}}
	key, err := KeyOf(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Write(t.Context(), &b, key, BuildOptions{HTTP: true}, src); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), key
}

// TestCorrupt checks that a corrupt file with valid checksums, whether by accident or by intent, leads to a response or
// an error and nothing else.
func TestCorrupt(t *testing.T) {
	shared.OneGoroutine(t)
	data, key := smallStore(t)
	opened, tried := 0, 0
	for i := 0; i < len(data); i += shared.Step(1, 7) {
		tried++
		for _, value := range []byte{0, 0xff, data[i] + 1} {
			changed := bytes.Clone(data)
			changed[i] = value
			reseal(changed, i%2 == 0)
			if s, err := New(bytes.NewReader(changed), int64(len(changed)), key); err == nil {
				opened++
				askAll(t, s)
			}
		}
	}
	if opened < tried/2 {
		t.Errorf("only %d of %d changed stores could be opened", opened, 3*tried)
	}
}

// TestEqualRun checks that a search in an unsorted table stays within its bounds.
func TestEqualRun(t *testing.T) {
	for n := range 9 {
		for pattern := range 1 << (2 * n) { // what compare returns: two bits for each
			first, end := equalRun(n, func(i int) int { return pattern>>(2*i)&3 - 1 })
			if first < 0 || end < first || end > n {
				t.Fatalf("%d of %b: [%d, %d)", n, pattern, first, end)
			}
		}
	}
	sorted := []int{1, 2, 2, 2, 5}
	for _, tt := range []struct{ value, first, end int }{{0, 0, 0}, {1, 0, 1}, {2, 1, 4}, {3, 4, 4}, {5, 4, 5}, {6, 5, 5}} {
		first, end := equalRun(len(sorted), func(i int) int { return sorted[i] - tt.value })
		if first != tt.first || end != tt.end {
			t.Errorf("%d: [%d, %d), want [%d, %d)", tt.value, first, end, tt.first, tt.end)
		}
	}
}

// TestFrameFits checks that the index cannot make a reader allocate more memory than the record can need.
func TestFrameFits(t *testing.T) {
	zeros, tiny := newPacker().frame(make([]byte, 1<<20)).data, newPacker().frame(make([]byte, 100)).data
	for _, tt := range []struct {
		frame []byte
		size  uint64
		want  bool
	}{
		{zeros, 1 << 20, true}, {zeros, 1<<20 + 1, false}, {zeros, 1, false}, {zeros[:3], 1 << 20, false}, {nil, 1, false},
		{tiny, 100, true}, {tiny, 255, true}, {tiny, 256, false}, // nor can it be told what it does hold
		{[]byte("no frame"), 1, false},
		{append([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xa0}, 0xff, 0xff, 0xff, 0x7f), 0x7fffffff, false}, // all header
	} {
		if got := frameFits(tt.frame, tt.size); got != tt.want {
			t.Errorf("a frame of %d bytes holds %d: %t, want %t", len(tt.frame), tt.size, got, tt.want)
		}
	}
}

// TestCheckIndex checks that every number in an index is checked, and that an index is rejected if it would make a reader
// allocate memory before a record is read.
func TestCheckIndex(t *testing.T) {
	data, key := smallStore(t)
	foot, err := parseFooter(data[len(data)-footerSize:], int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for i, tt := range []struct {
		change func(x *index.Index)
		want   string
	}{
		{func(*index.Index) {}, ""},
		{func(x *index.Index) { x.RecordContent[0] = 1 << 31 }, "cannot contain 2147483648"},
		{func(x *index.Index) { x.RecordContent = x.RecordContent[1:] }, "columns of records"},
		{func(x *index.Index) { x.RecordSum = append(x.RecordSum, 0) }, "columns of records"},
		{func(x *index.Index) { x.RecordSize[0]++ }, "the records end at byte"},
		{func(x *index.Index) { x.RecordSize[0] = 1<<32 - 1 }, "the records end at byte"},
		{func(x *index.Index) { x.Packages[0].Channels[0] = 1 }, "channel 1 of 1"},
		{func(x *index.Index) { x.Packages[0].Description = 1 << 31 }, "text 2147483648 of"},
		{func(x *index.Index) { x.Packages[0].Icon = 1<<32 - 1 }, "text 4294967295 of"},
		{func(x *index.Index) { x.Channels[0].Package = 1 }, "package 1 of 1"},
		{func(x *index.Index) { x.Channels[0].Head = 2 }, "entry 2 of 2"},
		{func(x *index.Index) { x.Channels[0].Entries[1] = 2 }, "entry 2 of 2"},
		{func(x *index.Index) { x.Packages[0].Deprecation = 1<<32 - 1 }, "message 4294967295 of"},
		{func(x *index.Index) { x.Channels[0].Deprecation = 1<<32 - 1 }, "message 4294967295 of"},
		{func(x *index.Index) { x.BundleDeprecation[0] = 1<<32 - 1 }, "message 4294967295 of"},
		{func(x *index.Index) { x.BundleName[0] = 1<<32 - 1 }, "string 4294967295 of"},
		{func(x *index.Index) { x.BundleWhole = x.BundleWhole[1:] }, "columns of bundles"},
		{func(x *index.Index) { x.BundlePackage[1] = 1 }, "package 1 of 1"},
		{func(x *index.Index) { x.BundleBody[1] = 1<<32 - 1 }, "record 4294967295 of"},
		{func(x *index.Index) { x.EntryChannel[0] = 1 }, "channel 1 of 1"},
		{func(x *index.Index) { x.EntryBundle[0] = 2 }, "bundle 2 of 2"},
		{func(x *index.Index) { x.EntryReplaces[0] = 1<<32 - 1 }, "string 4294967295 of"},
		{func(x *index.Index) { x.EntrySkipRange[0] = 1<<32 - 1 }, "string 4294967295 of"},
		{func(x *index.Index) { x.EntryRank = x.EntryRank[1:] }, "columns of entries"},
		{func(x *index.Index) { x.EntrySkipsEnd[0], x.EntrySkipsEnd[1] = 1, 0 }, "end before they start"},
		{func(x *index.Index) { x.EntrySkipsEnd[1] = 2 }, "end of skips 2 of 2"},
		{func(x *index.Index) { x.Skips[0] = 1<<32 - 1 }, "string 4294967295 of"},
		{func(x *index.Index) { x.Lists[0].Record = 1<<32 - 1 }, "record 4294967295 of"},
		{func(x *index.Index) { x.Lists[0].Entries++ }, "3 entries in lists, want 2"},
		{func(x *index.Index) { x.Providers[0] = 2 }, "entry 2 of 2"},
		{func(x *index.Index) { x.KindProvidersEnd[0] = 2 }, "end of providers 2 of 2"},
		{func(x *index.Index) { x.KindGroup[0] = 1<<32 - 1 }, "string 4294967295 of"},
		{func(x *index.Index) { x.KindVersion[0] = 1<<32 - 1 }, "string 4294967295 of"},
		{func(x *index.Index) { x.KindKind[0] = 1<<32 - 1 }, "string 4294967295 of"},
		{func(x *index.Index) { x.KindKind = nil }, "columns of kinds"},
		{func(x *index.Index) { x.Custom[0].Record = 1<<32 - 1 }, "record 4294967295 of"},
		{func(x *index.Index) { x.Catalogs[0].Zstd[0] = 1<<32 - 1 }, "record 4294967295 of"},
		{func(x *index.Index) { x.Catalogs[0].Gzip[0] = 1<<32 - 1 }, "record 4294967295 of"},
		{func(x *index.Index) { x.Catalogs[0].LineRecord[0] = 1<<32 - 1 }, "record 4294967295 of"},
		{func(x *index.Index) { x.Catalogs[0].LineSchema[0] = 1<<32 - 1 }, "string 4294967295 of"},
		{func(x *index.Index) { x.Catalogs[0].LinePackage[0] = 1<<32 - 1 }, "string 4294967295 of"},
		{func(x *index.Index) { x.Catalogs[0].LineName[0] = 1<<32 - 1 }, "string 4294967295 of"},
		{func(x *index.Index) { x.Catalogs[0].LineSize = nil }, "columns of lines"},
		{func(x *index.Index) { x.Catalogs[0].ByName = nil }, "columns of lines"},
		{func(x *index.Index) { x.Catalogs[0].BySchema[0] = 6 }, "line 6 of 6"},
		{func(x *index.Index) { x.Catalogs[0].ByPackage[0] = 6 }, "line 6 of 6"},
		{func(x *index.Index) { x.Catalogs[0].ByName[0] = 6 }, "line 6 of 6"},
		{func(x *index.Index) { x.EdgeEntry[0] = 2 }, "entry 2 of 2"},
		{func(x *index.Index) { x.EdgeName[0] = 1<<32 - 1 }, "string 4294967295 of"},
		{func(x *index.Index) { x.EdgeName = x.EdgeName[1:] }, "columns of edges"},
	} {
		x := &index.Index{}
		if err := proto.Unmarshal(data[foot.offset:][:foot.size], x); err != nil {
			t.Fatal(err)
		}
		tt.change(x)
		encoded, err := encodeIndex(x)
		if err != nil {
			t.Fatal(err)
		}
		f := footer{offset: foot.offset, size: uint64(len(encoded)), sum: xxhash.Sum64(encoded)}
		f.fileSize = f.offset + f.size + footerSize
		changed := f.append(append(bytes.Clone(data[:foot.offset]), encoded...))
		_, err = New(bytes.NewReader(changed), int64(len(changed)), key)
		if tt.want == "" && err != nil ||
			tt.want != "" && (!errors.Is(err, ErrChecksum) || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("change %d: %v, want %q", i, err, tt.want)
		}
	}
}

// TestAppendBlock checks the same for s2 blocks.
func TestAppendBlock(t *testing.T) {
	content := bytes.Repeat([]byte("content "), 100)
	block, huge := newPacker().record(content).data, s2.Encode(nil, make([]byte, 16<<20))
	got, err := appendBlock([]byte("before "), block, len(content))
	if want := "before " + string(content); err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	for _, tt := range []struct {
		block []byte
		size  int
	}{
		{block, len(content) - 1}, {block, len(content) + 1}, {block[:len(block)-1], len(content)}, {nil, 1}, {huge, 16 << 20},
	} {
		if got, err := appendBlock(nil, tt.block, tt.size); err == nil {
			t.Errorf("a block of %d bytes holds %d: got %d", len(tt.block), tt.size, len(got))
		}
	}
}

func FuzzOpen(f *testing.F) {
	data, key := smallStore(f)
	f.Add(0, []byte(nil), len(data), false)
	f.Add(len(data)-200, []byte{0xff, 0xff}, len(data), true)
	f.Add(100, []byte("longer text that goes over some of the numbers"), len(data)-10, true)
	f.Fuzz(func(t *testing.T, at int, text []byte, size int, records bool) {
		if at < 0 || at > len(data) || size < 0 || size > len(data) {
			return
		}
		changed := bytes.Clone(data)
		copy(changed[at:], text)
		if size < len(changed) { // the middle is missing
			changed = append(changed[:size/2:size/2], changed[len(changed)-(size-size/2):]...)
		}
		reseal(changed, records)
		if s, err := New(bytes.NewReader(changed), int64(len(changed)), key); err == nil {
			askAll(t, s)
		}
	})
}
