//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
)

// compare prints, in Markdown, the start time of upstream's server and of ours, and their memory after the start,
// without a cache and with one.
func (b *bench) compare(ctx context.Context, w io.Writer, upstream string) error {
	fmt.Fprintln(w, "| | upstream | this opm | times faster | times less memory |\n| --- | --- | --- | --- | --- |")
	for _, cached := range []bool{false, true} {
		theirs, err := b.startLikeUpstream(ctx, upstream, "upstream", cached)
		if err != nil {
			return err
		}
		ours, err := b.startLikeUpstream(ctx, b.program, "ours", cached)
		if err != nil {
			return err
		}
		name := map[bool]string{false: "without a cache", true: "with a cache"}[cached]
		fmt.Fprintf(w, "| serve, until it answers, %s | %.2f s, %d MB | %.2f s, %d MB | %.1f | %.1f |\n", name,
			theirs.took.Seconds(), theirs.memory/mb, ours.took.Seconds(), ours.memory/mb,
			theirs.took.Seconds()/ours.took.Seconds(), float64(theirs.memory)/float64(ours.memory))
	}
	return nil
}

// startLikeUpstream measures starts of a program with flags that upstream's opm has.
func (b *bench) startLikeUpstream(ctx context.Context, program, name string, cached bool) (startup, error) {
	args := []string{"serve", b.catalog}
	if cached {
		args = append(args, "--cache-dir", filepath.Join(b.dir, name))
		build := exec.CommandContext(ctx, program, append(args, "--cache-only")...)
		if out, err := build.CombinedOutput(); err != nil {
			return startup{}, fmt.Errorf("%s: %w\n%s", build, err, out)
		}
	}
	return b.medianStart(func() (*server, error) {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		cmd := exec.CommandContext(ctx, program, append(args, "--port", port, "--pprof-addr", "")...)
		return b.launch(ctx, "tcp", "localhost:"+port, cmd)
	})
}

// freePort returns a free port.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
}
