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
	"syscall"
	"text/tabwriter"
	"time"
)

const mb = 1e6

// A job is one row of the budget.
type job struct {
	name   string
	args   []string
	reads  string // the file or directory whose bytes count as read; none where it is empty
	budget budget
	short  bool // takes milliseconds, so that more runs are needed
}

// A budget is what a job may take. Zero means that it is not bounded.
type budget struct {
	time time.Duration
	rss  int64
}

// A result is what a job took: the medians of its runs.
type result struct {
	time time.Duration
	rss  int64
}

// jobs returns the rows of the design's budget that need nothing but a catalog.
func jobs(d data) []job {
	return []job{
		{"validate", []string{"validate", d.big}, d.big, budget{700 * time.Millisecond, 120 * mb}, false},
		{"validate, one YAML file", []string{"validate", d.yaml}, d.yaml, budget{1500 * time.Millisecond, 200 * mb}, false},
		{"render, JSON", []string{"render", d.big}, d.big, budget{700 * time.Millisecond, 120 * mb}, false},
		{"render, YAML", []string{"render", "-o", "yaml", d.big}, d.big, budget{2 * time.Second, 150 * mb}, false},
		{"list packages", []string{"list", "packages", d.big}, d.big, budget{500 * time.Millisecond, 120 * mb}, false},
		{fmt.Sprintf("validate, %d times", copies), []string{"validate", d.times}, d.times, budget{}, false},
		{"version", []string{"version"}, "", budget{time: 12 * time.Millisecond}, true},
	}
}

// measureAll runs every job and prints a row for each as it ends.
func measureAll(w io.Writer, program string, d data, runs int) error {
	fmt.Fprintf(w, "%s/%s, %d CPUs, median of %d runs\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runs)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "JOB\tTIME\tPEAK RSS\tREAD\tBUDGET\t")
	var validate result
	for _, j := range jobs(d) {
		n := runs
		if j.short {
			n = 7 * runs
		}
		got, err := medianOf(n, func() (result, error) { return measure(program, j.args, d.log) })
		if err != nil {
			return fmt.Errorf("%s: %w", j.name, err)
		}
		switch j.reads {
		case d.big:
			if j.args[0] == "validate" {
				validate = got
			}
		case d.times:
			// What matters here is growth, so that what it is held against is measured too.
			// A tenth of the time is for noise.
			j.budget = budget{copies * validate.time * 11 / 10, validate.rss * 3 / 2}
		}
		speed, err := speedOf(j, got)
		if err != nil {
			return err
		}
		fmt.Fprintf(table, "%s\t%s\t%d MB\t%s\t%s\t%s\n",
			j.name, seconds(got.time), got.rss/mb, speed, j.budget, j.budget.verdict(got))
	}
	if err := binaryRow(table, program); err != nil {
		return err
	}
	return table.Flush()
}

func binaryRow(w io.Writer, program string) error {
	const limit = 45 * mb
	info, err := os.Stat(program)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "size of the binary\t\t\t%.1f MB\t%d MB\t%s\n",
		float64(info.Size())/mb, int64(limit/mb), okOrOver(info.Size() <= limit))
	return nil
}

// measure runs the program once, with its output thrown away. What it has to say of errors goes to a file: held here
// it would count as memory of the next run.
func measure(program string, args []string, log string) (result, error) {
	stderr, err := os.Create(log)
	if err != nil {
		return result{}, err
	}
	defer stderr.Close()
	cmd := exec.Command(program, args...)
	cmd.Stderr = stderr
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

// peak returns the most memory that a process held, in bytes.
func peak(state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return usage.Maxrss // which all others count in kilobytes
	}
	return usage.Maxrss * 1024
}

func medianOf(runs int, run func() (result, error)) (result, error) {
	var times []time.Duration
	var sizes []int64
	for range runs {
		r, err := run()
		if err != nil {
			return result{}, err
		}
		times, sizes = append(times, r.time), append(sizes, r.rss)
	}
	return result{median(times), median(sizes)}, nil
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
	if b.rss == 0 {
		return seconds(b.time)
	}
	return fmt.Sprintf("%s, %d MB", seconds(b.time), b.rss/mb)
}

func (b budget) verdict(r result) string {
	return okOrOver((b.time == 0 || r.time <= b.time) && (b.rss == 0 || r.rss <= b.rss))
}

func okOrOver(ok bool) string {
	if ok {
		return "ok"
	}
	return "OVER"
}
