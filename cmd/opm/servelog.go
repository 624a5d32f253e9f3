package main

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/serve"
)

// terminationMessage returns the reason why the server ended, for the termination log.
func terminationMessage(why error) string {
	if e, ok := errors.AsType[*serve.ProblemsError](why); ok {
		return problem.Lines(e.Problems) + "\n"
	}
	return why.Error() + "\n"
}

// readingInterval is the interval at which a server logs its progress while it loads catalogs.
const readingInterval = 5 * time.Second

// logReading returns a function that adds up the bytes of catalogs read, and logs the total at intervals. A catalog is
// read twice: to validate it, and to build the store.
func logReading(log *slog.Logger) func(int64) {
	var read, next atomic.Int64
	next.Store(time.Now().Add(readingInterval).UnixNano())
	return func(n int64) {
		total, at, now := read.Add(n), next.Load(), time.Now()
		if now.UnixNano() >= at && next.CompareAndSwap(at, now.Add(readingInterval).UnixNano()) {
			log.Info("loading", "read", plural.Bytes(total))
		}
	}
}
