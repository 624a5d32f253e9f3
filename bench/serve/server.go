//go:build linux

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/opm-toolchain/opm/pkg/api/client"
)

// A server is a process of opm serve.
type server struct {
	cmd    *exec.Cmd
	client *client.Client
	log    *os.File
	took   time.Duration // from its start until it was ready
}

// start starts a server on a socket, and waits until it is ready.
func (b *bench) start(ctx context.Context, args ...string) (*server, error) {
	socket := filepath.Join(b.dir, "socket")
	args = append([]string{"serve", "catalog=" + b.catalog, "--addr", "unix:" + socket}, args...)
	return b.launch(ctx, "unix", socket, exec.CommandContext(ctx, b.program, args...))
}

// launch starts a server that listens on an address, and waits until it is ready.
func (b *bench) launch(ctx context.Context, network, address string, cmd *exec.Cmd) (*server, error) {
	log, err := os.Create(filepath.Join(b.dir, "log"))
	if err != nil {
		return nil, err
	}
	s := &server{cmd: cmd, log: log}
	cmd.Stderr = log
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	target := address
	if network == "unix" {
		target = "unix:" + address
	}
	if s.client, err = client.New(target, client.Options{}); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	if err := s.wait(ctx, network, address); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	s.took = time.Since(start)
	return s, nil
}

// wait waits until the server listens, since a client that connects too soon waits for a second, and then until it is
// ready.
func (s *server) wait(ctx context.Context, network, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		if conn, err := net.Dial(network, address); err == nil {
			conn.Close()
			break
		}
		time.Sleep(time.Millisecond)
	}
	return s.client.WaitReady(ctx)
}

// memory returns the resident memory of the server and its peak, in bytes.
func (s *server) memory() (now, most int64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	return field(string(status), "VmRSS:"), field(string(status), "VmHWM:"), nil
}

// processor returns the processor time of the server.
func (s *server) processor() (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	const user, system, tick = 11, 12, 10 * time.Millisecond // fields after the name, which may contain any characters
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	u, errUser := strconv.Atoi(fields[user])
	k, errSystem := strconv.Atoi(fields[system])
	return time.Duration(u+k) * tick, errors.Join(errUser, errSystem)
}

// load makes calls as the function [load] does, and also measures the processor time of the server.
func (s *server) load(callers int, last time.Duration, call func(int) (int, error)) result {
	before, errBefore := s.processor()
	r := load(callers, last, call)
	after, errAfter := s.processor()
	r.processor = after - before
	r.failed = cmp.Or(r.failed, errBefore, errAfter)
	return r
}

// field returns the value of a field in a status file of the system, converted from kilobytes to bytes.
func field(status, name string) int64 {
	for line := range strings.Lines(status) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			kilobytes, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kilobytes * 1024
		}
	}
	return 0
}

// stop ends the server. The error includes its log.
func (s *server) stop() error {
	if s.client != nil {
		s.client.Close()
	}
	defer s.log.Close()
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	if err := s.cmd.Wait(); err != nil {
		text, _ := os.ReadFile(s.log.Name())
		return fmt.Errorf("opm serve: %w\n%s", err, text)
	}
	return nil
}
