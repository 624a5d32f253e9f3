package publish

import (
	"context"
	"debug/buildinfo"
	"debug/elf"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"

	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/pkg/image"
)

// Paths in an image, the same as in a generated Dockerfile.
const (
	program    = "bin/opm"
	catalogDir = "configs"
	cacheDir   = "tmp/cache"
)

// user is the user ID that opm runs as, unless the base sets another user. Other users can also read the files.
const user = "1001"

var entrypoint = []string{"/" + program}

// opmPath is the package path of opm.
const opmPath = "github.com/opm-toolchain/opm/cmd/opm"

// command returns the entry point and the arguments of a catalog image, or nil if the image has no opm. An opm that can
// read our store fails at once if the store does not match the catalog, as upstream does, because such an image is
// broken.
func (p Platform) command(httpAddr string) (entry, args []string) {
	if p.Binary == nil && p.Base == nil {
		return nil, nil
	}
	entry, args = entrypoint, []string{"serve", "/" + catalogDir}
	if p.Base != nil && p.Base.entry != nil {
		entry, args = p.Base.entry, slices.Clone(p.Base.args)
	}
	if p.readsStore() {
		args = append(args, "--cache-dir=/"+cacheDir, "--cache-enforce-integrity")
		if httpAddr != "" {
			args = append(args, "--http-addr="+httpAddr)
		}
	}
	return entry, args
}

// readsStore reports whether the opm that serves the catalog can read our store. Upstream's opm cannot.
func (p Platform) readsStore() bool { return p.Base == nil || p.Base.IsOpm }

// A Base is an image with opm at /bin/opm.
type Base struct {
	IsOpm    bool   // whether its opm is from this project, in any version, and not upstream's
	HTTPAddr string // the address for HTTP in the command of a catalog image; "" for none

	image       *image.Image
	entry, args []string // the command of a catalog image; nil for that of new images
}

// ErrNoProgram is wrapped by the error about a base image without opm.
var ErrNoProgram = errors.New("it has no /" + program + ": choose one with opm, or scratch")

// NewBase checks that an image can be the base for a platform, and inspects its opm. The caller closes the image,
// after the images built on it.
func NewBase(ctx context.Context, img *image.Image, platform string) (*Base, error) {
	if err := img.CheckPlatform(platform); err != nil {
		return nil, fmt.Errorf("base image %s: %w", img.Ref, err)
	}
	dir, name := path.Split("/" + program)
	fsys, err := img.Files(ctx, dir, name)
	var f fs.File
	if err == nil {
		f, _, err = regular.Open(fsys, name)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("base image %s: %w", img.Ref, ErrNoProgram)
	case err != nil:
		return nil, fmt.Errorf("base image %s: /%s: %w", img.Ref, program, err)
	}
	defer f.Close()
	info, err := buildinfo.Read(f.(io.ReaderAt)) // Files returns files that implement io.ReaderAt
	return &Base{IsOpm: err == nil && info.Path == opmPath, image: img}, nil
}

// A Binary is the program opm for a platform. It keeps its packed layer, which is most of the work of a small image,
// for all images that are built with it: close it after them.
type Binary struct {
	file programFile
	size int64

	mu     sync.Mutex // held while packing
	packed map[time.Time]*image.Layer
}

type programFile interface {
	io.ReaderAt
	io.Closer
}

// OpenBinary opens a program for an image without a base. It must be opm for the platform (linux/arch or
// linux/arch/variant) and statically linked.
func OpenBinary(name, platform string) (*Binary, error) {
	return openProgram(name, platform, opmPath)
}

// ErrDynamic is wrapped by errors about programs that need shared libraries. An image without a base has no libraries.
var ErrDynamic = errors.New("needs libraries, which the image does not have: build opm with CGO_ENABLED=0")

// Self opens the running program like OpenBinary. If the program needs shared libraries, Self opens a release binary in
// the same directory, such as linux-amd64-opm, which must report the given version; if version is "", the error wraps
// ErrDynamic instead.
func Self(ctx context.Context, platform, version string) (*Binary, error) {
	name, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return openStatic(ctx, name, platform, version)
}

func openStatic(ctx context.Context, name, platform, version string) (*Binary, error) {
	b, err := openProgram(name, platform, "")
	if !errors.Is(err, ErrDynamic) || version == "" {
		return b, err
	}
	name = filepath.Join(filepath.Dir(name), strings.ReplaceAll(withoutVariant(platform), "/", "-")+"-opm")
	b, releaseErr := OpenBinary(name, platform)
	if errors.Is(releaseErr, fs.ErrNotExist) {
		return nil, err
	}
	if releaseErr == nil {
		if releaseErr = checkVersion(ctx, name, version); releaseErr == nil {
			return b, nil
		}
		releaseErr = errors.Join(releaseErr, b.Close())
	}
	return nil, fmt.Errorf("%w; %w", err, releaseErr)
}

// checkVersion runs a program to check its version, which the file itself does not record.
func checkVersion(ctx context.Context, name, want string) error {
	var have struct{ Version string }
	out, err := exec.CommandContext(ctx, name, "version", "-o", "json").Output()
	if err == nil {
		err = json.Unmarshal(out, &have)
	}
	if err != nil {
		return fmt.Errorf("run %s: %w", name, err)
	}
	if have.Version != want {
		return fmt.Errorf("%s is version %q, this opm is version %q", name, have.Version, want)
	}
	return nil
}

// openProgram opens a program and checks it. If main is empty, the program may be built from any package.
func openProgram(name, platform, main string) (*Binary, error) {
	f, info, err := regular.Open(os.DirFS(filepath.Dir(name)), filepath.Base(name))
	if err != nil {
		return nil, err
	}
	b := &Binary{file: f.(programFile), size: info.Size()} // an *os.File
	if err := b.check(platform, main); err != nil {
		return nil, errors.Join(fmt.Errorf("%s %w", name, err), f.Close())
	}
	return b, nil
}

// check returns an error that reads as the rest of a sentence after the name of the program, such as "is not opm".
func (b *Binary) check(platform, main string) error {
	program, err := elf.NewFile(b.file)
	if err != nil {
		return fmt.Errorf("is not a program for Linux: %w", err)
	}
	info, err := buildinfo.Read(b.file)
	if err != nil {
		return fmt.Errorf("is not opm: %w", err)
	}
	if main != "" && info.Path != main {
		return fmt.Errorf("is not opm: it is built from %s, not from %s", info.Path, main)
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if have, want := settings["GOOS"]+"/"+settings["GOARCH"], withoutVariant(platform); have != want {
		return fmt.Errorf("is for %s, not for %s", have, want)
	}
	interpreted := func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }
	if slices.ContainsFunc(program.Progs, interpreted) {
		return ErrDynamic
	}
	return nil
}

func withoutVariant(platform string) string {
	parts := strings.SplitN(platform, "/", 3)
	return strings.Join(parts[:min(2, len(parts))], "/")
}

// Close closes the program file, and removes the packed layers.
func (b *Binary) Close() error {
	var errs []error
	for _, l := range b.packed {
		errs = append(errs, l.Close())
	}
	return errors.Join(append(errs, b.file.Close())...)
}

// pack returns the layer with the files of an image without a catalog, which exists until the binary is closed.
func (b *Binary) pack(ctx context.Context, created time.Time) (*image.Layer, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l := b.packed[created]; l != nil {
		return l, nil
	}
	l, err := image.Pack(ctx, image.Content{Files: b.files()}, created)
	if err != nil {
		return nil, err
	}
	if b.packed == nil {
		b.packed = map[time.Time]*image.Layer{}
	}
	b.packed[created] = l
	return l, nil
}

// tmp is the directory in which opm builds a missing store. A generated Dockerfile puts the cache there too.
var tmp = image.File{Name: "tmp", Mode: fs.ModeDir | fs.ModeSticky | 0o777}

func directory(name string) image.File { return image.File{Name: name, Mode: fs.ModeDir | 0o755} }

// files returns the files of an image without a catalog.
func (b *Binary) files() []image.File {
	return []image.File{
		directory("bin"),
		{Name: program, Mode: 0o755, Size: b.size, Content: b.file},
		directory("etc"),
		text("etc/nsswitch.conf", "hosts: files dns\n"),
		directory("etc/ssl"),
		directory("etc/ssl/certs"),
		text("etc/ssl/certs/ca-certificates.crt", certificates()),
		tmp,
	}
}

func text(name, content string) image.File {
	return image.File{Name: name, Mode: 0o644, Size: int64(len(content)), Content: strings.NewReader(content)}
}

// certificates returns the certificate authorities that Mozilla trusts, in PEM. It omits the ones with constraints,
// such as trust in older certificates only, because PEM cannot express them. The certificates are compiled into opm,
// so that the image does not depend on the build machine.
func certificates() string {
	var b strings.Builder
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			b.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return b.String()
}
