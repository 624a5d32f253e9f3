package serve

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// residentMemory returns what memory the process takes, for people.
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
