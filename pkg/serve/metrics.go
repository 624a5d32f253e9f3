package serve

import (
	"path"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/opm-toolchain/opm/pkg/serve/web"
)

// counted returns an observer of calls that counts them, and then tells next unless it is nil.
func counted(m *web.Metrics, next func(string, codes.Code, time.Duration)) func(string, codes.Code, time.Duration) {
	return func(method string, code codes.Code, took time.Duration) {
		if isRegistry(method) {
			m.Call(path.Base(method), code.String(), took)
		}
		if next != nil {
			next(method, code, took)
		}
	}
}

// loadMetrics count what is loaded, for HTTP. The zero value counts nothing.
type loadMetrics struct{ *web.Metrics }

func (m loadMetrics) loaded(s *Snapshot, took time.Duration) {
	if m.Metrics != nil {
		m.Loaded(web.Load{Stats: s.Store.Stats(), Built: s.Built, Took: took, Catalogs: s.catalogs})
	}
}

func (m loadMetrics) failed() {
	if m.Metrics != nil {
		m.LoadFailed()
	}
}

func (m loadMetrics) damaged() {
	if m.Metrics != nil {
		m.Now(web.Damaged)
	}
}
