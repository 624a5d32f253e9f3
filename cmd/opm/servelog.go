package main

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/serve"
)

const (
	// terminationLog is the file from which Kubernetes reads the reason why a container ended.
	terminationLog = "/dev/termination-log"

	// maxTerminationLog is the maximum number of bytes that Kubernetes reads from the file.
	maxTerminationLog = 4096
)

// writeTerminationLog writes the reason why the server ended to the named file, if the file exists or asked is true.
func writeTerminationLog(name string, asked bool, why error) error {
	flags := os.O_WRONLY | os.O_TRUNC
	if asked {
		flags |= os.O_CREATE
	}
	if name == "" {
		return nil
	}
	f, err := regular.CreateNamed(name, flags, 0o666)
	if errors.Is(err, fs.ErrNotExist) && !asked {
		return nil // not a container in a cluster
	}
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, terminationMessage(why))
	return errors.Join(err, f.Close())
}

// terminationMessage returns the text of the reason, cut to maxTerminationLog bytes at the end of a line.
func terminationMessage(why error) string {
	text := why.Error() + "\n"
	if e, ok := errors.AsType[*serve.ProblemsError](why); ok {
		text = problem.Lines(e.Problems) + "\n"
	}
	if len(text) <= maxTerminationLog {
		return text
	}
	const more = "...\n"
	kept := text[:maxTerminationLog-len(more)]
	return kept[:strings.LastIndexByte(kept, '\n')+1] + more
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
