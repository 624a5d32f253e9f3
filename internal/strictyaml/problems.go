package strictyaml

import (
	"errors"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/internal/plural"
)

// MaxProblems is the number of problems that are reported of a file. Further problems are counted.
const MaxProblems = 1000

// Problems collects the problems of a file. The zero value has none.
type Problems struct {
	errs []*place.Error
	more int // problems that are only counted
}

// Add adds the error that made returns, which is called only if the error will be reported.
func (p *Problems) Add(made func() *place.Error) {
	if len(p.errs) == MaxProblems {
		p.more++
		return
	}
	p.errs = append(p.errs, made())
}

// Addf adds the error of [File.Errorf].
func (p *Problems) Addf(f *File, ptr jsontext.Pointer, format string, args ...any) {
	p.Add(func() *place.Error { return f.Errorf(ptr, format, args...) })
}

// Sorted returns the problems by position. The last one has the number of further problems, if there are any.
func (p *Problems) Sorted() []*place.Error {
	sorted := slices.Clone(p.errs)
	slices.SortStableFunc(sorted, func(a, b *place.Error) int { return a.Pos.Compare(b.Pos) })
	if p.more > 0 {
		count := plural.Words(p.more, "more problem of the file is", "more problems of the file are")
		last := sorted[len(sorted)-1].Pos
		sorted = append(sorted, &place.Error{Pos: last, Err: errors.New(count + " not reported")})
	}
	return sorted
}

// Err joins the problems in the order of Sorted. It is nil if there are none.
func (p *Problems) Err() error {
	var errs []error
	for _, err := range p.Sorted() {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
