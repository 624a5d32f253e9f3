package yamljson

import "testing"

func benchmark(b *testing.B, every int, convert func(dst, doc []byte) []byte) {
	var docs [][]byte
	size := 0
	for i, doc := range documents(b) {
		if i%every == 0 && !isEmptyText(doc) {
			docs = append(docs, doc)
			size += len(doc)
		}
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	var dst []byte
	for b.Loop() {
		for _, doc := range docs {
			dst = convert(dst[:0], doc)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	benchmark(b, 1, func(dst, doc []byte) []byte {
		out, err := Append(dst, doc)
		if err != nil {
			b.Fatal(err)
		}
		return out
	})
}

// BenchmarkFull measures the slow reader.
func BenchmarkFull(b *testing.B) {
	benchmark(b, 16, func(dst, doc []byte) []byte {
		out, _, err := appendSlow(dst, doc, nil)
		if err != nil {
			b.Fatal(err)
		}
		return out
	})
}

// BenchmarkTrace measures the search for the places in a document.
func BenchmarkTrace(b *testing.B) {
	benchmark(b, 1, func(dst, doc []byte) []byte {
		new(Source).Trace(doc)
		return dst
	})
}

func BenchmarkCheckCharacters(b *testing.B) {
	benchmark(b, 1, func(dst, doc []byte) []byte {
		if _, err := checkCharacters(doc); err != nil {
			b.Fatal(err)
		}
		return dst
	})
}
