package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/edit"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/internal/shell"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
)

func fmtCmd() *cobra.Command {
	var f fmtFlags
	each := eachFlag{together: true}
	return command{
		Use:   "fmt FILE|DIRECTORY...",
		Short: "Format the YAML and JSON files of catalogs and templates",
		Long: `Rewrite files in one layout: objects and their keys in the order of the format, two spaces of
indentation (four in JSON), quotes only where they are needed. Values do not change, and comments
stay with what they are about. The names of the files that changed are printed.

In a directory, all files of the catalog are formatted: those that .indexignore does not ignore. Of
a link, the target is formatted, even if it is elsewhere.
"-" formats standard input to standard output.

A file that cannot be formatted is left as it is, and the reason is an error at its place.`,
		Example: `  opm fmt catalog templates/basic.yaml
  opm fmt --check catalog || opm fmt --diff catalog
  opm fmt - < crafts.yaml`,
		flags: func(cmd *cobra.Command) {
			flags := cmd.Flags()
			flags.BoolVar(&f.check, "check", false, "change nothing; list the files that would change, and exit with 1 if any")
			flags.BoolVar(&f.diff, "diff", false, "change nothing; print what would change as a unified diff")
		},
		each: &each,
		work: "formatting",
		do: func(cmd *cobra.Command, args []string) error {
			if each.given() {
				all, err := each.catalogs("")
				if err != nil {
					return err
				}
				args = slices.Concat(pathsOf(all), args[1:])
			}
			return f.run(cmd, args)
		},
	}.cobra()
}

// fmtFlags are the flags of fmt, and the numbers of compared files and of files that would change.
type fmtFlags struct {
	check bool
	diff  bool

	total, changed int
}

func (f *fmtFlags) run(cmd *cobra.Command, args []string) error {
	var errs []error
	warn := warnOfLeftovers(cmd)
	for _, arg := range args {
		if arg == render.Stdin {
			errs = append(errs, f.stdin(cmd))
			continue
		}
		if !f.check && !f.diff {
			warn(edit.RemoveLeftovers(arg))
		}
		source, names, err := fmtSource(arg)
		errs = append(errs, err)
		for _, name := range names {
			errs = append(errs, f.file(cmd, source, name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if f.check && f.changed > 0 {
		return fmt.Errorf("%d of %s not formatted; run: %s", f.changed, plural.Words(f.total, "file is", "files are"),
			shell.Join(append([]string{"opm", "fmt"}, args...)...))
	}
	return nil
}

// fmtSource returns the files that an argument names.
func fmtSource(arg string) (source declcfg.Source, names []string, err error) {
	info, err := os.Stat(arg)
	if err != nil {
		return source, nil, fmt.Errorf("format %q: %w", arg, regular.WithoutPath(err))
	}
	if info.IsDir() {
		source = declcfg.Source{Name: arg, FS: os.DirFS(arg)}
		names, err = source.Files()
		return source, names, err
	}
	dir, name := filepath.Split(arg)
	return declcfg.Source{Name: filepath.Clean(dir), FS: os.DirFS(filepath.Clean(dir))}, []string{name}, nil
}

// file formats one file of a source.
func (f *fmtFlags) file(cmd *cobra.Command, source declcfg.Source, name string) error {
	path := filepath.Join(source.Name, name)
	file, info, err := regular.Open(source.FS, name)
	if err != nil {
		return &declcfg.Error{Pos: declcfg.Pos{File: path}, Err: regular.WithoutPath(err)}
	}
	defer file.Close()
	in := io.NewSectionReader(file.(io.ReaderAt), 0, info.Size()) // files of os.DirFS implement io.ReaderAt
	if f.check || f.diff {
		return f.compare(cmd, path, in)
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	var record declcfg.Record
	record.Add(path, source.FS, name, info)
	opts := atomicfile.Options{Replace: true, Mode: info.Mode().Perm()}
	err = atomicfile.Write(target, opts, func(w io.Writer) error {
		changed, err := edit.Format(cmd.Context(), w, path, in, in.Size())
		switch {
		case err != nil:
			return err
		case !changed:
			return errUnchanged
		}
		return record.Check()
	})
	if errors.Is(err, errUnchanged) {
		return nil
	}
	if err == nil {
		_, err = fmt.Fprintln(textOutput(cmd), path)
	}
	return err
}

// errUnchanged stops the replacement of a file whose content would stay the same.
var errUnchanged = errors.New("unchanged")

// maxInMemory is the maximum size of standard input, and of a file whose changes are shown, in bytes.
const maxInMemory = 64 << 20

// compare prints the changes that fmt would make to a file.
func (f *fmtFlags) compare(cmd *cobra.Command, name string, in *io.SectionReader) error {
	var out bytes.Buffer
	var w io.Writer = &out
	if !f.diff {
		w = io.Discard
	} else if in.Size() > maxInMemory {
		return tooLarge(name)
	}
	changed, err := edit.Format(cmd.Context(), w, name, in, in.Size())
	if err != nil {
		return err
	}
	f.total++
	if !changed {
		return nil
	}
	f.changed++
	if !f.diff {
		_, err = fmt.Fprintln(textOutput(cmd), name)
		return err
	}
	before, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return writeDiff(cmd, edit.Diff(name, before, name, out.Bytes()))
}

func tooLarge(name string) error {
	return fmt.Errorf("read %s: more than %s; use opm fmt FILE or opm fmt --check FILE", name,
		plural.Bytes(maxInMemory))
}

// stdin formats standard input.
func (f *fmtFlags) stdin(cmd *cobra.Command) error {
	const name = "stdin"
	text, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), maxInMemory+1))
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	size := int64(len(text))
	if size > maxInMemory {
		return tooLarge(name)
	}
	in := io.NewSectionReader(bytes.NewReader(text), 0, size)
	if f.check || f.diff {
		return f.compare(cmd, name, in)
	}
	var out bytes.Buffer
	if _, err := edit.Format(cmd.Context(), &out, name, in, size); err != nil {
		return err
	}
	_, err = dataOutput(cmd).Write(out.Bytes())
	return err
}
