// Package reference classifies references, such as "catalog", "bundle.tar.gz", "oci:layout:v1", "quay.io/org/image:v1"
// and "-". All commands, pkg/render and pkg/image use it, so that a reference has the same meaning everywhere.
//
//	if r := reference.Of("catalog"); r.Kind == reference.Directory { … }
package reference

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/opm-toolchain/opm/internal/nearest"
)

// Stdin is the reference to standard input.
const Stdin = "-"

// LayoutPrefix begins the references to images in OCI layouts.
const LayoutPrefix = "oci:"

// A Kind is the kind of object that a reference refers to.
type Kind int

// The kinds.
const (
	Missing         Kind = iota // does not exist
	StandardInput               // -
	Directory                   // of a catalog or a bundle
	LayoutDirectory             // a directory with an OCI layout, without the prefix
	File                        // a catalog file or an archive, depending on its content
	Pipe                        // a named pipe, a device or similar, which can be read once
	Layout                      // an image in an OCI layout: oci:DIRECTORY, with :TAG or @DIGEST
	Archive                     // one of the images in an archive: FILE:TAG or FILE@DIGEST
	Registry                    // an image in a registry, by its form; it may be malformed
)

// IsImage reports whether the reference is certainly to an image. A File may also contain one.
func (k Kind) IsImage() bool { return k >= Layout }

// A Reference is a classified reference. The content of files is unknown.
type Reference struct {
	Kind Kind
	Path string // of the directory or the file
	Name string // the tag or the digest in a Layout or an Archive; "" for the only image
	Err  error  // why a path cannot be opened, of Missing or of Layout
}

// Of classifies text. An existing path is never a Registry.
func Of(text string) Reference {
	if text == Stdin {
		return Reference{Kind: StandardInput}
	}
	if rest, ok := strings.CutPrefix(text, LayoutPrefix); ok {
		return layout(rest)
	}
	info, err := os.Stat(text)
	switch {
	case err == nil:
		return Reference{Kind: kindOf(text, info.Mode()), Path: text}
	case strings.ContainsAny(text, ":@") &&
		(errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG)):
		if file, name, ok := split(text, fs.FileMode.IsRegular); ok {
			return Reference{Kind: Archive, Path: file, Name: name}
		}
		if isWindowsPath(text) {
			return Reference{Err: missingError{text}, Path: text}
		}
		return Reference{Kind: Registry}
	case text == "" || errors.Is(err, fs.ErrNotExist):
		return Reference{Err: missingError{text}, Path: text}
	}
	return Reference{Err: errors.Unwrap(err), Path: text}
}

// isWindowsPath reports whether text is a path of Windows, whose colon may follow a drive: no image reference has a
// backslash, or a colon after a single letter without a port.
func isWindowsPath(text string) bool {
	return strings.Contains(text, `\`) || filepath.VolumeName(text) != ""
}

func kindOf(path string, mode fs.FileMode) Kind {
	switch {
	case mode.IsDir():
		if _, err := os.Stat(filepath.Join(path, "oci-layout")); err == nil { // every layout has this file
			return LayoutDirectory
		}
		return Directory
	case mode.IsRegular():
		return File
	}
	return Pipe
}

// layout parses the text after "oci:". A missing directory is a layout to be written, with the tag after the last
// colon.
func layout(text string) Reference {
	r := Reference{Kind: Layout}
	var ok bool
	if r.Path, r.Name, ok = split(text, fs.FileMode.IsDir); ok {
		return r
	}
	if file, _, ok := split(text, fs.FileMode.IsRegular); ok {
		r.Err = fmt.Errorf("%s is a file: name an archive without %s", file, LayoutPrefix)
	} else {
		r.Err = fmt.Errorf("directory %s does not exist%s", text, ListHint(LayoutPrefix+text))
	}
	r.Path = text
	if i := strings.LastIndexByte(text, ':'); i >= 0 && !strings.ContainsAny(text[i:], `/\`) {
		r.Path, r.Name = text[:i], text[i+1:]
	}
	return r
}

// CutTag cuts the name of an image, without a digest, at the colon before the tag, not before a port.
func CutTag(name string) (before, tag string) {
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		return name[:i], name[i+1:]
	}
	return name, ""
}

// Pinned returns the name of an image with a digest in place of its tag and its digest.
func Pinned(name, digest string) string {
	name, _, _ = strings.Cut(name, "@")
	repository, _ := CutTag(name)
	return repository + "@" + digest
}

// split splits PATH, PATH:NAME or PATH@NAME. PATH must exist, with a mode that is accepts.
func split(text string, is func(fs.FileMode) bool) (path, name string, ok bool) {
	exists := func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && is(info.Mode())
	}
	if exists(text) {
		return text, "", true
	}
	if path, digest, ok := strings.Cut(text, "@"); ok && exists(path) {
		return path, digest, true
	}
	// A tag may be a whole reference, as in layouts that docker writes.
	for i := range len(text) {
		if text[i] == ':' && exists(text[:i]) {
			return text[:i], text[i+1:], true
		}
	}
	return "", "", false
}

// A missingError reports that a path does not exist, with a hint for a probable image reference.
type missingError struct{ text string }

func (e missingError) Error() string {
	what := "no such file or directory"
	siblings := siblingsOf(e.text)
	if list := ListHint(e.text); list != "" {
		noComma := func(name string) bool { return !strings.Contains(name, ",") }
		return what + cmp.Or(nearest.Hint(e.text, slices.DeleteFunc(siblings, noComma)), list)
	}
	if host, _, ok := strings.Cut(e.text, "/"); ok && strings.IndexByte(host, '.') > 0 {
		return what + fmt.Sprintf("; an image needs a tag or a digest, as in %s:latest", strings.ToLower(e.text))
	}
	return what + nearest.Hint(e.text, siblings)
}

// siblingsOf returns the paths in the directory of a path; nil if it cannot be read.
func siblingsOf(path string) (siblings []string) {
	dir, _ := filepath.Split(path)
	entries, _ := os.ReadDir(cmp.Or(dir, ".")) // no hint without the directory
	for _, sibling := range entries {
		siblings = append(siblings, dir+sibling.Name())
	}
	return siblings
}

// Near returns the path in the directory of a missing path that was probably meant, or "".
func Near(path string) string { return nearest.Name(path, siblingsOf(path)) }

func (missingError) Unwrap() error { return fs.ErrNotExist }
