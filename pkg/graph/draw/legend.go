package draw

import "github.com/opm-toolchain/opm/pkg/graph"

type size struct{ width, height int }

// A sample is an entry of the legend: a line or a box with its meaning.
type sample struct {
	Class string // of the line or the box
	Line  bool
	X, Y  int // of its left end and its middle
	Text  string
}

// sampleWidth is the width of the sample before the text.
const sampleWidth = 30

// sampleHeight is the height of a separately drawn sample.
const sampleHeight = 18

// Coordinates for the template.
func (s sample) LineEnd() int { return s.X + sampleWidth - 7 }
func (s sample) HeadX() int   { return s.X + sampleWidth }
func (s sample) BoxY() int    { return s.Y - 7 }
func (s sample) TextX() int   { return s.X + sampleWidth + 8 }
func (s sample) TextY() int   { return s.Y + 4 }

// newLegend lays out the legend.
func newLegend() ([]sample, size) {
	const gap, step = 22, 24
	samples := []sample{
		{Class: classOf(graph.Replaces), Line: true, Text: "is replaced by"},
		{Class: classOf(graph.Skips), Line: true, Text: "is skipped by"},
		{Class: classOf(graph.SkipRange), Line: true, Text: "is in the skipRange of"},
		{Class: "entry head", Text: "head of the channel"},
		{Class: "entry", Text: "bundle"},
		{Class: "entry skipped", Text: "skipped: not installed any more"},
		{Class: "entry deprecated", Text: "deprecated"},
		{Class: "virtual", Text: "not in the catalog"},
		{Class: "outside", Text: "not in the channel"},
	}
	x, y, widest := 0, step/2, 0
	for i := range samples {
		s := &samples[i]
		w := sampleWidth + 8 + width(s.Text, smallSize)
		if x > 0 && x+w > legendLimit {
			x, y = 0, y+step
		}
		s.X, s.Y = x, y
		widest = max(widest, x+w)
		x += w + gap
	}
	return samples, size{widest, y + step/2}
}

// looseSamples returns the samples of the legend for separate pictures, each at the origin.
func looseSamples() []sample {
	samples, _ := newLegend()
	for i := range samples {
		samples[i].X, samples[i].Y = 1, sampleHeight/2
	}
	return samples
}

func classOf(by graph.Edge) string { return string(by) }
