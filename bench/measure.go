//go:build unix

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

const mb = 1e6

// A job is one row of the budget.
type job struct {
	name     string
	args     []string
	shell    string // a script to run instead, with the program as $1 and then the arguments; "" for none
	reads    string // the file or directory whose bytes count as read; "" for none
	budget   budget
	relative growth // limits relative to another job; they override the budget
	short    bool   // takes only milliseconds, so that more runs are needed

	ownFlags bool // upstream's opm has no such command, or not all of its flags
}

// A budget is the maximum time and memory of a job. Zero means no limit.
type budget struct {
	time time.Duration
	rss  int64
}

// A growth limits a job relative to the result of another job.
type growth struct {
	job       string  // name of the other job, which must be measured before; "" for none
	time, rss float64 // maximum factor; zero means the limit of the budget
}

// A result is the measurement of a job: the medians of its runs.
type result struct {
	time time.Duration
	rss  int64
}

// The allowed noise if a row is limited relative to another measured row: a tenth of the time, and half of the memory,
// because the time of garbage collections varies.
const (
	noiseOfTime = 1.1
	noiseOfRSS  = 1.5
)

// catalogJobs returns the rows of the design's budget that need nothing but a catalog.
func catalogJobs(d data) []job {
	const ms = time.Millisecond
	return []job{
		{name: "validate", args: []string{"validate", d.big}, reads: d.big, budget: budget{500 * ms, 100 * mb}},
		{name: "validate, one YAML file", args: []string{"validate", d.yaml}, reads: d.yaml,
			budget: budget{1500 * ms, 200 * mb}},
		{name: "render, JSON", args: []string{"render", d.big}, reads: d.big, budget: budget{400 * ms, 100 * mb}},
		{name: "render, YAML", args: []string{"render", "-o", "yaml", d.big}, reads: d.big,
			budget: budget{800 * ms, 100 * mb}},
		{name: "list packages", args: []string{"alpha", "list", "packages", d.big}, reads: d.big,
			budget: budget{350 * ms, 100 * mb}},
		{name: "updates", args: []string{"updates", d.big}, reads: d.big, ownFlags: true,
			budget: budget{350 * ms, 100 * mb}},
		{name: "validate, 4 times", args: []string{"validate", d.times(4)}, reads: d.times(4),
			budget: budget{rss: 130 * mb}, relative: growth{job: "validate", time: 4 * noiseOfTime}},
		{name: "version", args: []string{"version"}, budget: budget{time: 30 * time.Millisecond}, short: true},
	}
}

// bundleJobs returns the rows about bundles, in directories and in images, and about the image of the catalog. Images
// are read from a local registry, which responds at once or after a delay.
func bundleJobs(operators string, images imageServer, delay time.Duration) ([]job, error) {
	dirs, err := bundleDirs(operators)
	if err != nil {
		return nil, err
	}
	render := func(host string, n int) []string {
		return append([]string{"render", "--use-http"}, images.refs(host, n)...)
	}
	all := len(images.Images)
	few := job{name: fmt.Sprintf("render, %d bundle images", all/100), args: render(images.Prompt, all/100)}
	steady := growth{job: few.name, rss: noiseOfRSS}
	return []job{
		{name: fmt.Sprintf("render, %d bundle directories", len(dirs)), args: append([]string{"render"}, dirs...),
			reads: operators, budget: budget{350 * time.Millisecond, 80 * mb}},
		{name: fmt.Sprintf("render, %d bundle directories", 8*len(dirs)),
			args: append([]string{"render"}, slices.Repeat(dirs, 8)...), budget: budget{3500 * time.Millisecond, 100 * mb}},
		few,
		{name: fmt.Sprintf("render, %d bundle images", all/10), args: render(images.Prompt, all/10),
			budget: budget{time: time.Second}, relative: steady},
		{name: fmt.Sprintf("render, %d bundle images, %v a request", all/10, delay), args: render(images.Slow, all/10),
			budget: budget{time: 3 * time.Second}, relative: steady},
		{name: fmt.Sprintf("render, %d bundle images, %v a request", all, delay), args: render(images.Slow, all),
			budget: budget{time: 10 * time.Second}, relative: steady},
		{name: fmt.Sprintf("render, %d bundle images, HTTP/2, %v a request", all, delay),
			args:   append([]string{"render", "--skip-tls-verify"}, images.refs(images.SlowTLS, all)...),
			budget: budget{time: 4 * time.Second}, relative: steady, ownFlags: true},
		{name: "validate, catalog image", args: []string{"validate", "--use-http", images.Prompt + "/" + images.Catalog},
			relative: growth{job: "validate", time: 2, rss: noiseOfRSS}},
		{name: "render, catalog image of opm build", args: []string{"render", "--use-http", images.Prompt + "/" + built},
			budget: budget{time.Second, 90 * mb}},
	}, nil
}

// A measurer runs jobs.
type measurer struct {
	opm      string // the program
	upstream string // upstream's program, or ""
	runs     int    // number of runs of each job; the median counts
	log      string // the file for the stderr of a program
}

// all runs every job and prints a row for each.
func (m measurer) all(w io.Writer, jobs []job) error {
	fmt.Fprintf(w, "%s/%s, %d CPUs, median of %d runs\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), m.runs)
	if m.upstream != "" {
		return m.compare(w, jobs)
	}
	return m.budget(w, jobs)
}

// budget prints the measurements of jobs beside their budgets.
func (m measurer) budget(w io.Writer, jobs []job) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "JOB\tTIME\tPEAK RSS\tREAD\tBUDGET\t")
	results := map[string]result{}
	for _, j := range jobs {
		medians, err := m.run(j, m.opm)
		if err != nil {
			return fmt.Errorf("%s: %w", j.name, err)
		}
		got := medians[0]
		results[j.name] = got
		speed, err := speedOf(j, got)
		if err != nil {
			return err
		}
		limit := j.relative.limit(j.budget, results)
		fmt.Fprintf(table, "%s\t%s\t%d MB\t%s\t%s\t%s\n",
			j.name, seconds(got.time), got.rss/mb, speed, limit, limit.verdict(got))
	}
	if err := binaryRow(table, m.opm); err != nil {
		return err
	}
	return table.Flush()
}

// compare prints, in Markdown, the results of upstream's program and of ours.
func (m measurer) compare(w io.Writer, jobs []job) error {
	fmt.Fprintln(w, "| | upstream | this opm | times faster | times less memory |\n| --- | --- | --- | --- | --- |")
	for _, j := range jobs {
		if j.ownFlags {
			continue
		}
		medians, err := m.run(j, m.upstream, m.opm)
		if err != nil {
			return fmt.Errorf("%s: %w", j.name, err)
		}
		theirs, ours := medians[0], medians[1]
		fmt.Fprintf(w, "| %s | %s, %d MB | %s, %d MB | %.1f | %.1f |\n", j.name,
			seconds(theirs.time), theirs.rss/mb, seconds(ours.time), ours.rss/mb,
			theirs.time.Seconds()/ours.time.Seconds(), float64(theirs.rss)/float64(ours.rss))
	}
	return nil
}

// run returns the medians of some runs of a job, for each program. The programs run in turn, so that changes of the
// speed of the machine affect all of them equally.
func (m measurer) run(j job, programs ...string) ([]result, error) {
	runs := m.runs
	if j.short {
		runs *= 7
	}
	got := make([][]result, len(programs))
	for range runs {
		for i, program := range programs {
			command, args := program, j.args
			if j.shell != "" {
				command, args = "/bin/sh", append([]string{"-c", j.shell, "sh", program}, j.args...)
			}
			r, err := measure(command, args, m.log)
			if err != nil {
				return nil, err
			}
			got[i] = append(got[i], r)
		}
	}
	medians := make([]result, len(programs))
	for i := range got {
		medians[i] = medianOf(got[i])
	}
	return medians, nil
}

// limit returns the budget b of a job, with the limits relative to the result of another job.
func (g growth) limit(b budget, results map[string]result) budget {
	than := results[g.job]
	if g.time > 0 {
		b.time = time.Duration(g.time * float64(than.time))
	}
	if g.rss > 0 {
		b.rss = int64(g.rss * float64(than.rss))
	}
	return b
}

func binaryRow(w io.Writer, program string) error {
	const limit = 85 * mb
	info, err := os.Stat(program)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "size of the binary\t\t\t%.1f MB\t%d MB\t%s\n",
		float64(info.Size())/mb, int64(limit/mb), okOrOver(info.Size() <= limit))
	return nil
}

// measure runs the program once, without a cache. It discards stdout, and writes stderr to a file: in memory it would
// count as memory of the next run.
func measure(program string, args []string, log string) (result, error) {
	stderr, err := os.Create(log)
	if err != nil {
		return result{}, err
	}
	defer stderr.Close()
	cmd := exec.Command(program, args...)
	cmd.Stderr = stderr
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "OLM_CACHE_DIR=") })
	start := time.Now()
	err = cmd.Run()
	took := time.Since(start)
	if err != nil {
		head := make([]byte, 2000)
		n, _ := stderr.ReadAt(head, 0)
		return result{}, fmt.Errorf("%w: %s", err, bytes.TrimSpace(head[:n]))
	}
	return result{took, peak(cmd.ProcessState)}, nil
}

// peak returns the peak resident memory of a process, in bytes.
func peak(state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return usage.Maxrss // in bytes; other systems have kilobytes
	}
	return usage.Maxrss * 1024
}

func medianOf(all []result) result {
	var times []time.Duration
	var sizes []int64
	for _, r := range all {
		times, sizes = append(times, r.time), append(sizes, r.rss)
	}
	return result{median(times), median(sizes)}
}

func median[T cmp.Ordered](list []T) T {
	slices.Sort(list)
	return list[len(list)/2]
}

func speedOf(j job, r result) (string, error) {
	if j.reads == "" {
		return "", nil
	}
	n, err := size(j.reads)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%.0f MB/s of %.0f MB", float64(n)/mb/r.time.Seconds(), float64(n)/mb), nil
}

func seconds(d time.Duration) string {
	if d < 100*time.Millisecond {
		return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

func (b budget) String() string {
	switch {
	case b == (budget{}):
		return ""
	case b.rss == 0:
		return seconds(b.time)
	}
	return fmt.Sprintf("%s, %d MB", seconds(b.time), b.rss/mb)
}

func (b budget) verdict(r result) string {
	if b == (budget{}) {
		return ""
	}
	return okOrOver((b.time == 0 || r.time <= b.time) && (b.rss == 0 || r.rss <= b.rss))
}

func okOrOver(ok bool) string {
	if ok {
		return "ok"
	}
	return "OVER"
}
