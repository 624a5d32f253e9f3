package web

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A kind is what Prometheus calls the type of a metric.
type kind string

const (
	counterKind   kind = "counter"
	gaugeKind     kind = "gauge"
	histogramKind kind = "histogram"
)

// A family is all series of one metric, one for each combination of values of its labels. It is written in the text
// format of Prometheus, see https://prometheus.io/docs/instrumenting/exposition_formats/. The client library of
// Prometheus would do, but takes 1.5 ms from the start of every command.
type family struct {
	kind   kind
	name   string
	help   string
	labels []string // names, in the order of the alphabet

	mu     sync.Mutex
	series map[string]*series // by the text of their labels
}

// A series is the values of a counter, a gauge or a histogram.
type series struct {
	value   float64
	buckets []uint64 // of a histogram: how many were up to each of the limits, and above those before
	sum     time.Duration
	count   uint64
}

func newFamily(kind kind, name, help string, labels ...string) *family {
	f := &family{kind: kind, name: name, help: help, labels: labels, series: map[string]*series{}}
	if len(labels) == 0 {
		f.set(0)
	}
	return f
}

// with returns the series with these values of the labels. The family is locked.
func (f *family) with(values []string) *series {
	var text strings.Builder
	for i, label := range f.labels {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `%s="%s"`, label, escaped.Replace(values[i]))
	}
	s := f.series[text.String()]
	if s == nil {
		s = &series{}
		f.series[text.String()] = s
	}
	return s
}

// escaped are the characters that have another meaning in the value of a label.
var escaped = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func (f *family) set(value float64, values ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.with(values).value = value
}

func (f *family) add(value float64, values ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.with(values).value += value
}

func (f *family) observe(took time.Duration, values ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.with(values)
	if s.buckets == nil {
		s.buckets = make([]uint64, len(buckets)+1)
	}
	i, _ := slices.BinarySearch(buckets, took.Seconds())
	s.buckets[i]++
	s.sum += took
	s.count++
}

// reset forgets all series.
func (f *family) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.series)
}

// write writes the family, its series in order. A family without any is left out.
func (f *family) write(w io.Writer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.series) == 0 {
		return
	}
	fmt.Fprintf(w, "# HELP %s %s\n# TYPE %[1]s %[3]s\n", f.name, f.help, f.kind)
	for _, labels := range slices.Sorted(maps.Keys(f.series)) {
		s := f.series[labels]
		if f.kind == histogramKind {
			f.writeHistogram(w, labels, s)
			continue
		}
		if labels != "" {
			labels = "{" + labels + "}"
		}
		fmt.Fprintf(w, "%s%s %s\n", f.name, labels, number(s.value))
	}
}

func (f *family) writeHistogram(w io.Writer, labels string, s *series) {
	total := uint64(0)
	for i, n := range s.buckets {
		total += n
		limit := "+Inf"
		if i < len(buckets) {
			limit = number(buckets[i])
		}
		fmt.Fprintf(w, "%s_bucket{%s,le=%q} %d\n", f.name, labels, limit, total)
	}
	fmt.Fprintf(w, "%s_sum{%s} %s\n%[1]s_count{%[2]s} %[4]d\n", f.name, labels, number(s.sum.Seconds()), s.count)
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
