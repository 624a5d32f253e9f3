package serve

import (
	"bytes"
	"cmp"
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/opm-toolchain/opm/pkg/api/client"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is the time that a test waits for an event, which almost always happens much sooner. It exceeds the time
// that a client may stall.
const patience = 5 * time.Minute

// trees is a catalog with objects for every query of a registry.
const trees = `---
schema: olm.package
name: oak
defaultChannel: stable
---
schema: olm.channel
package: oak
name: stable
entries:
- {name: oak.v3.0.0, replaces: oak.v2.0.0, skips: [oak.v1.5.0]}
- {name: oak.v2.0.0, replaces: oak.v1.0.0, skipRange: '<2.0.0'}
- {name: oak.v1.0.0, replaces: oak.v0.9.0}
---
schema: olm.channel
package: oak
name: fast
entries:
- {name: oak.v3.0.0, replaces: oak.v1.0.0, skips: [oak.v2.0.0]}
- {name: oak.v2.0.0, replaces: oak.v1.0.0}
- {name: oak.v1.0.0}
---
schema: olm.bundle
package: oak
name: oak.v1.0.0
image: registry.example/oak:v1.0.0
properties:
- {type: olm.package, value: {packageName: oak, version: 1.0.0}}
---
schema: olm.bundle
package: oak
name: oak.v2.0.0
image: registry.example/oak:v2.0.0
properties:
- {type: olm.package, value: {packageName: oak, version: 2.0.0}}
- {type: olm.gvk, value: {group: trees.example, version: v1, kind: Oak}}
---
schema: olm.bundle
package: oak
name: oak.v3.0.0
image: registry.example/oak:v3.0.0
properties:
- {type: olm.package, value: {packageName: oak, version: 3.0.0}}
- {type: olm.gvk, value: {group: trees.example, version: v1, kind: Oak}}
- {type: olm.gvk.required, value: {group: soil.example, version: v1, kind: Soil}}
---
schema: olm.deprecations
package: oak
entries:
- {reference: {schema: olm.package}, message: plant beeches}
- {reference: {schema: olm.channel, name: fast}, message: too fast}
- {reference: {schema: olm.bundle, name: oak.v1.0.0}, message: too old}
---
schema: olm.package
name: ash
defaultChannel: only
---
schema: olm.channel
package: ash
name: only
entries:
- {name: ash.v1.0.0}
---
schema: olm.bundle
package: ash
name: ash.v1.0.0
properties:
- {type: olm.package, value: {packageName: ash, version: 1.0.0}}
- {type: olm.gvk, value: {group: trees.example, version: v1, kind: Oak}}
- type: olm.bundle.object
  value:
    data: eyJhcGlWZXJzaW9uIjoib3BlcmF0b3JzLmNvcmVvcy5jb20vdjFhbHBoYTEiLCJraW5kIjoiQ2x1c3RlclNlcnZpY2VWZXJzaW9uIiwibWV0YWRhdGEiOnsibmFtZSI6ImFzaC52MS4wLjAifX0=
---
schema: example.Leaf/v1
package: oak
size: 3
---
schema: example.Leaf/v1
size: 4
`

// write makes a file below dir, and returns dir.
func write(t testing.TB, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

// put makes or replaces a file in a directory in one step, for a server that watches it.
func put(t testing.TB, dir, name, content string) {
	t.Helper()
	must(t, os.Rename(filepath.Join(write(t, t.TempDir(), name, content), name), filepath.Join(dir, name)))
}

// catalogDir returns a directory with the catalog.
func catalogDir(t testing.TB, text string) string {
	t.Helper()
	return write(t, t.TempDir(), "catalog.yaml", text)
}

// open returns a function that opens directories. Each is a catalog named after the directory.
func open(dirs ...string) func(context.Context) (*Input, error) {
	return func(context.Context) (*Input, error) {
		in := &Input{Close: func() {}}
		for _, dir := range dirs {
			source := declcfg.Source{Name: dir, FS: os.DirFS(dir)}
			in.Catalogs = append(in.Catalogs, Catalog{Name: filepath.Base(dir), Source: source})
		}
		return in, nil
	}
}

// A logBook collects the log of a server.
type logBook struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
}

func newLogBook() *logBook { return &logBook{changed: make(chan struct{})} }

func (b *logBook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.changed)
	b.changed = make(chan struct{})
	return b.text.Write(p)
}

func (b *logBook) read() (string, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String(), b.changed
}

func (b *logBook) String() string {
	text, _ := b.read()
	return text
}

// wait returns when the log contains all texts.
func (b *logBook) wait(t testing.TB, texts ...string) {
	t.Helper()
	giveUp := time.After(patience)
	for _, text := range texts {
		for {
			now, changed := b.read()
			if strings.Contains(now, text) {
				break
			}
			select {
			case <-changed:
			case <-giveUp:
				t.Fatalf("the log does not say %q:\n%s", text, now)
			}
		}
	}
}

func (b *logBook) logger() *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }

// A running is a running server of a test.
type running struct {
	*client.Client
	listener *bufconn.Listener
	log      *logBook
	end      func() error // stops the server, and returns its error
}

// run runs a server of directories, over bufconn.
func run(t testing.TB, opts Options, dirs ...string) *running {
	t.Helper()
	r := &running{listener: bufconn.Listen(window), log: newLogBook()}
	if len(opts.Registries) == 0 {
		opts.Registries = make([]Registry, 1)
	}
	opts.Registries[0].Listener = r.listener
	if load := &opts.Registries[0].Load; load.Open == nil {
		load.Open = open(dirs...)
	}
	opts.Log = cmp.Or(opts.Log, r.log.logger())
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, opts) }()
	r.end = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(patience):
			t.Error("the server does not end")
			return nil
		}
	})
	t.Cleanup(func() { r.end() })
	r.Client = dial(t, r.listener)
	return r
}

// window is the number of bytes that a connection and a client buffer without a request.
const window = 64 << 10

// dial returns a client of l.
func dial(t testing.TB, l *bufconn.Listener, more ...grpc.DialOption) *client.Client {
	t.Helper()
	byListener := grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) })
	c, err := client.New("passthrough:///test", client.Options{
		Dial: append(more, byListener, grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(window)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// ready waits until the server is serving.
func (r *running) ready(t testing.TB) *running {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := r.WaitReady(ctx); err != nil {
		t.Fatalf("%v\n%s", err, r.log)
	}
	return r
}
