//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// An outcome is everything that a run of a line leaves behind, by name: its output, its exit status, its files with
// their modes, and the changes of the registry.
type outcome struct {
	parts map[string]string
	end   string // the exit status and, unless it is 0, the last line of standard error
	took  time.Duration
}

// A place is where one line at a time runs: first with one program, then with the other.
type place struct {
	dir       string
	work      string // the directory that is copied to dir/work
	registry  *host
	timeLimit time.Duration    // of a run
	files     map[string]*file // of a run when it starts, by path in dir; nil if they must be made
}

// A file is a file, a directory or a link in a place.
type file struct {
	info    fs.FileInfo
	content string // of a file, or the target of a link
}

// standIns are programs that opm calls. They print their arguments.
var standIns = []string{"docker", "podman", "buildah", "cosign"}

func newPlace(dir, work string, s *seeds) (*place, error) {
	registry, err := newHost(s)
	if err != nil {
		return nil, err
	}
	p := &place{dir: dir, work: work, registry: registry, timeLimit: 2 * time.Minute}
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o777); err != nil {
		return nil, err
	}
	for _, name := range standIns {
		script := fmt.Sprintf("#!/bin/sh\necho %s \"$@\"\n", name)
		if err := os.WriteFile(filepath.Join(dir, "bin", name), []byte(script), 0o777); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// compared are the directories of a place whose files are compared.
var compared = []string{"work", "home", "tmp"}

// prepare makes the files of a run as they were before the last one, unless they still are, and makes the program opm.
func (p *place) prepare(program string) error {
	if p.files == nil {
		if err := p.makeFiles(); err != nil {
			return err
		}
	}
	opm := filepath.Join(p.dir, "bin", "opm")
	if err := os.Remove(opm); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Link(program, opm)
}

func (p *place) makeFiles() error {
	for _, name := range compared {
		if err := os.RemoveAll(filepath.Join(p.dir, name)); err != nil {
			return err
		}
	}
	mirror := fmt.Sprintf("[[registry]]\nlocation = \"registry.example\"\n"+
		"[[registry.mirror]]\nlocation = %q\ninsecure = true\n", p.registry.address)
	err := errors.Join(
		os.CopyFS(filepath.Join(p.dir, "work"), os.DirFS(p.work)),
		os.Mkdir(filepath.Join(p.dir, "home"), 0o777),
		os.Mkdir(filepath.Join(p.dir, "tmp"), 0o777),
		os.WriteFile(filepath.Join(p.dir, "work", "registries.conf"), []byte(mirror), 0o666),
	)
	if err != nil {
		return err
	}
	p.files, err = p.list()
	return err
}

// list returns the files of a run. It reads only new and changed files.
func (p *place) list() (map[string]*file, error) {
	files := map[string]*file{}
	for _, name := range compared {
		err := fs.WalkDir(os.DirFS(p.dir), name, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			if before := p.files[path]; before != nil && isSame(before.info, info) {
				files[path] = before
				return nil
			}
			f := &file{info: info}
			files[path] = f
			switch {
			case e.Type() == fs.ModeSymlink:
				f.content, err = os.Readlink(filepath.Join(p.dir, path))
			case e.Type().IsRegular():
				var content []byte
				content, err = os.ReadFile(filepath.Join(p.dir, path))
				f.content = string(content)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// isSame reports whether a file is the same and has not been changed. The files in a directory count for themselves.
func isSame(a, b fs.FileInfo) bool {
	if a.IsDir() {
		return a.Mode() == b.Mode()
	}
	x, y := a.Sys().(*syscall.Stat_t), b.Sys().(*syscall.Stat_t)
	return x.Ino == y.Ino && x.Ctim == y.Ctim && x.Size == y.Size && x.Mode == y.Mode
}

// restore removes the files that a run made. It forgets the files if the run changed or removed one.
func (p *place) restore(after map[string]*file) error {
	for path, before := range p.files {
		if after[path] != before {
			p.files = nil
			return nil
		}
	}
	for path := range after {
		if p.files[path] == nil && p.files[filepath.Dir(path)] != nil {
			if err := os.RemoveAll(filepath.Join(p.dir, path)); err != nil {
				return err
			}
		}
	}
	return nil
}

// environment returns all variables of a run.
func (p *place) environment() []string {
	proxy := "http://" + p.registry.address
	return []string{
		"PATH=" + filepath.Join(p.dir, "bin") + ":/usr/bin:/bin",
		"HOME=" + filepath.Join(p.dir, "home"),
		"TMPDIR=" + filepath.Join(p.dir, "tmp"),
		"XDG_RUNTIME_DIR=" + filepath.Join(p.dir, "home", "run"),
		"CONTAINERS_REGISTRIES_CONF=" + filepath.Join(p.dir, "work", "registries.conf"),
		"REGISTRY=" + p.registry.address,
		"HTTP_PROXY=" + proxy,
		"HTTPS_PROXY=" + proxy,
		"LANG=C.UTF-8",
		"TZ=UTC",
	}
}

// run runs a line with a program.
func (p *place) run(ctx context.Context, program program, line string) (outcome, error) {
	if err := p.prepare(program.file); err != nil {
		return outcome{}, err
	}
	content := p.registry.empty()
	limited, cancel := context.WithTimeout(ctx, p.timeLimit)
	defer cancel()
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(limited, "/bin/sh", "-c", line)
	cmd.Dir, cmd.Env = filepath.Join(p.dir, "work"), p.environment()
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	kill := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel, cmd.WaitDelay = kill, 10*time.Second
	start := time.Now()
	err := cmd.Run()
	o := outcome{took: time.Since(start)}
	if cmd.ProcessState == nil {
		return o, err
	}
	_ = kill() // what the line left running; usually there is nothing
	if ctx.Err() != nil {
		return o, ctx.Err()
	}
	status := cmd.ProcessState.String()
	if limited.Err() != nil {
		status = fmt.Sprintf("killed after %v", p.timeLimit)
	}
	if o.end = status; !cmd.ProcessState.Success() {
		o.end += ": " + lastLine(stderr.String())
	}
	hide := program.hide.Replace
	o.parts = map[string]string{
		"standard output": hide(stdout.String()), "standard error": hide(timeless(stderr.String())),
		"exit status": status, "registry": content.log(),
	}
	files, err := p.list()
	if err != nil {
		return o, err
	}
	for path, f := range files {
		o.parts["mode of "+path] = f.info.Mode().String()
		switch {
		case f.info.IsDir():
		case f == p.files[path]: // not of the run
			o.parts[path] = f.content
		default:
			o.parts[path] = hide(f.content)
		}
	}
	return o, p.restore(files)
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// Times and durations in a log, and the lines of a log about one of several registries or images.
var (
	logTime = regexp.MustCompile(`(?m)^time=\S+|\btook=\S+|\btime: \d[\d.]*(?:s|[mnµ]s)|"(?:time|took)":(?:"[^"]*"|\d+)`)
	logLine = regexp.MustCompile(`(?m)^opm: (?:registry|image) .*\n`)
)

// timeless removes from a log what depends on time: times, durations, and the order of the lines that --verbose prints
// about several images at once. These become the last lines.
func timeless(log string) string {
	log = logTime.ReplaceAllString(log, "TIME")
	lines := logLine.FindAllString(log, -1)
	slices.Sort(lines)
	return logLine.ReplaceAllString(log, "") + strings.Join(lines, "")
}
