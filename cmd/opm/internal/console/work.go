package console

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/plural"
)

// A Work is the state of the running work, for the progress line. Its counters may change at any time. A nil Work
// counts nothing.
type Work struct {
	what string // such as "rendering"
	bar  bool   // show a bar for bytes that are copied

	stop    <-chan struct{} // closed when the work is done; nil if no line is shown
	running sync.WaitGroup  // goroutines that end when stop is closed

	done, total      atomic.Int64 // items
	noun             atomic.Value // what the items are, in the plural
	current          atomic.Value // the item done last
	read, downloaded atomic.Int64 // bytes of catalogs and from registries
	size             atomic.Int64 // bytes of all files, once known
	copied, toCopy   atomic.Int64 // bytes of images
	uploaded         atomic.Int64 // bytes to registries, if toCopy is 0
}

// Go calls fn on a new goroutine if the progress line is shown. The work is not done before fn returns; fn should
// return soon after stopped reports true.
func (w *Work) Go(fn func(stopped func() bool)) {
	if w == nil || w.stop == nil {
		return
	}
	w.running.Go(func() {
		fn(func() bool {
			select {
			case <-w.stop:
				return true
			default:
				return false
			}
		})
	})
}

// Count sets the number of items to process.
func (w *Work) Count(total int, noun string) {
	if w != nil {
		w.noun.Store(noun)
		w.total.Store(int64(total))
	}
}

// Did counts one processed item.
func (w *Work) Did(current string) {
	if w != nil {
		w.current.Store(current)
		w.done.Add(1)
	}
}

// Read counts bytes of catalogs.
func (w *Work) Read(bytes int64) {
	if w != nil {
		w.read.Add(bytes)
	}
}

// Downloaded counts bytes from registries.
func (w *Work) Downloaded(bytes int) {
	if w != nil {
		w.downloaded.Add(int64(bytes))
	}
}

// Uploaded counts bytes sent to registries.
func (w *Work) Uploaded(bytes int) {
	if w != nil {
		w.uploaded.Add(int64(bytes))
	}
}

// Size sets the number of bytes to read.
func (w *Work) Size(bytes int64) { w.size.Store(bytes) }

// Expect adds bytes to copy; a negative number are bytes that need not be copied after all.
func (w *Work) Expect(bytes int64) {
	if w != nil {
		w.toCopy.Add(bytes)
	}
}

// Copied counts bytes of images that were copied.
func (w *Work) Copied(bytes int64) {
	if w != nil {
		w.copied.Add(bytes)
	}
}

// copying returns the part of the line about bytes that are copied: their number, the speed, and the time left.
func (w *Work) copying(seconds int) string {
	n, of := w.copied.Load(), w.toCopy.Load()
	speed := n / int64(max(seconds, 1))
	part := fmt.Sprintf("%s of %s copied, %s/s", plural.Size(n), plural.Size(max(of, n)), plural.Size(speed))
	if speed > 0 && of > n {
		part += fmt.Sprintf(", %s s left", plural.Number(int((of-n)/speed)))
	}
	return part
}

// barWidth is the number of columns of a bar, without its ends.
const barWidth = 20

// drawBar returns a bar for the copied part of the bytes to copy.
func (w *Work) drawBar() string {
	n, of := w.copied.Load(), w.toCopy.Load()
	full := int(float64(min(n, of)) / float64(of) * barWidth)
	return "[" + strings.Repeat("#", full) + strings.Repeat("-", barWidth-full) + "]"
}

// line returns the progress line after some time, with at most the given number of columns.
func (w *Work) line(after time.Duration, columns int) string {
	parts := []string{"opm: " + w.what}
	seconds := int(after.Seconds())
	if w.bar && w.toCopy.Load() > 0 {
		parts[0] += " " + w.drawBar()
	}
	if total := w.total.Load(); total > 1 {
		done := int(w.done.Load())
		parts[0] += fmt.Sprintf(" %s of %s %s", plural.Number(done), plural.Number(int(total)), w.noun.Load())
		if rate := done / max(seconds, 1); rate > 0 {
			parts = append(parts, plural.Number(rate)+"/s")
		}
	}
	switch n, size := w.read.Load(), w.size.Load(); {
	case n > 0 && n <= size: // not while files are read a second time for writing
		parts = append(parts, fmt.Sprintf("%s of %s read", plural.Bytes(n), plural.Bytes(size)))
	case n > 0:
		parts = append(parts, plural.Bytes(n)+" read")
	}
	if n := w.downloaded.Load(); w.toCopy.Load() > 0 {
		parts = append(parts, w.copying(seconds))
	} else if n > 0 {
		parts = append(parts, fmt.Sprintf("%s downloaded, %s/s", plural.Bytes(n), plural.Bytes(n/int64(max(seconds, 1)))))
	}
	if n := w.uploaded.Load(); n > 0 && w.toCopy.Load() == 0 {
		parts = append(parts, fmt.Sprintf("%s pushed, %s/s", plural.Bytes(n), plural.Bytes(n/int64(max(seconds, 1)))))
	}
	parts = append(parts, plural.Number(seconds)+" s")
	if current, ok := w.current.Load().(string); ok {
		parts = append(parts, legible.Name(current))
	}
	line := []rune(strings.Join(parts, ", "))
	if len(line) > columns {
		line = append(line[:max(columns-1, 0)], '…')
	}
	return string(line)
}
