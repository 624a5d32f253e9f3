package serve

import (
	"cmp"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/opm-toolchain/opm/internal/serve/guard"
	"github.com/opm-toolchain/opm/internal/serve/memlimit"
)

// DefaultIdle is the time after which a connection without calls is closed, as clients of gRPC do.
const DefaultIdle = 30 * time.Minute

// requestTimeout is the time in which the request of a gRPC call must arrive. Requests contain only names.
const requestTimeout = 10 * time.Second

// Limits that depend on the memory that the program may use. Without a limit on memory, they are the maximum.
const (
	maxConnections = 4000
	connCost       = 32 << 10 // approximate bytes of an idle connection
	maxCalls       = 4000     // waiting or in progress
	callCost       = 24 << 10 // approximate bytes of a call in progress
	maxSendMemory  = 256 << 20
)

const (
	maxOpenFiles  = 1 << 30 // if the system sets no limit
	reservedFiles = 100     // for everything except client connections: stores, listeners, registries
)

// Limits are the limits of all clients together. Zero values depend on the memory that the server may use.
type Limits struct {
	Connections int           // open at the same time, gRPC and HTTP; 0 means up to 4000
	SendMemory  int64         // bytes of responses that are being sent; 0 means a fifth of the memory, up to 256 MiB
	Idle        time.Duration // after which a connection without calls is closed; 0 means DefaultIdle
}

// defaults returns the limits, with defaults in place of zero values. memory is the memory of the server in bytes.
func (l Limits) defaults(memory int64) Limits {
	if l.Connections == 0 {
		l.Connections = int(min(maxConnections, max(memory/10/connCost, 100)))
	}
	if l.SendMemory == 0 {
		l.SendMemory = min(maxSendMemory, memory/5)
	}
	l.Idle = cmp.Or(l.Idle, DefaultIdle)
	return l
}

// newGuard returns a guard with the limits of opts. It lowers the number of connections if the process may open fewer
// files.
func newGuard(opts Options) *guard.Guard {
	memory, files := memlimit.Bytes(), openFiles()
	set := opts.Limits.defaults(memory)
	if most := int(files - min(reservedFiles, files/2)); set.Connections > most {
		if opts.Limits.Connections > 0 {
			opts.Log.Warn("fewer connections than configured: the process may not open enough files (ulimit -n)",
				"asked", set.Connections, "connections", most)
		}
		set.Connections = most
	}
	return guard.New(guard.Options{
		Connections: set.Connections,
		Calls:       min(maxCalls, max(memory/10/callCost, 256)),
		SendMemory:  set.SendMemory,
		Request:     requestTimeout,
		Idle:        set.Idle,
		Log:         opts.Log,
	})
}

// residentMemory returns the resident memory of the process as text, such as 120 MB.
func residentMemory() string {
	const megabyte = 1 << 20
	status, err := os.ReadFile("/proc/self/status")
	if err == nil {
		for line := range strings.Lines(string(status)) {
			if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
				kilobytes, err := strconv.Atoi(strings.Fields(rest)[0])
				if err == nil {
					return strconv.Itoa(kilobytes/1024) + " MB"
				}
			}
		}
	}
	var m runtime.MemStats // without a proc file system: what Go has requested
	runtime.ReadMemStats(&m)
	return strconv.FormatUint(m.Sys/megabyte, 10) + " MB"
}
