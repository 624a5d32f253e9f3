package serve

import (
	"path"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/opm-toolchain/opm/pkg/serve/web"
)

// counted returns an observer of calls that counts them, and then calls next unless it is nil.
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
