package serve

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/opm-toolchain/opm/pkg/api"
	"github.com/opm-toolchain/opm/pkg/api/client"
)

// texts returns the messages of a stream as strings, and an error as its code.
func texts[T any](answers iter.Seq2[T, error], text func(T) string) []string {
	var all []string
	for a, err := range answers {
		if err != nil {
			return append(all, status.Code(err).String())
		}
		all = append(all, text(a))
	}
	return all
}

// one returns a response as a string, or an error as its code.
func one[T any](answer T, err error) func(text func(T) string) []string {
	return func(text func(T) string) []string {
		if err != nil {
			return []string{status.Code(err).String()}
		}
		return []string{text(answer)}
	}
}

func entryText(e *api.ChannelEntry) string {
	return fmt.Sprintf("%s/%s %s -> %s", e.PackageName, e.ChannelName, e.Replaces, e.BundleName)
}

// bundleText returns the name of a bundle, and which of the optional fields of a response it has.
func bundleText(b *api.Bundle) string {
	text := fmt.Sprintf("%s/%s %s", b.PackageName, b.ChannelName, b.CsvName)
	if b.CsvJson != "" {
		text += fmt.Sprintf(" csv, %d objects", len(b.Object))
	}
	if b.Replaces != "" || len(b.Skips) > 0 {
		text += fmt.Sprintf(" <- %s %v", b.Replaces, b.Skips)
	}
	if b.Deprecation != nil {
		text += ": " + b.Deprecation.Message
	}
	return text
}

func itself(s string) string { return s }

// TestAnswers calls every method of a registry.
func TestAnswers(t *testing.T) {
	r := run(t, Options{}, catalogDir(t, trees)).ready(t)
	ctx := t.Context()
	const group = "trees.example"
	for _, test := range []struct {
		question string
		got      []string
		want     []string
	}{
		{"packages", texts(r.Packages(ctx), itself), []string{"ash", "oak"}},
		{"package", one(r.Package(ctx, "oak"))(func(p *api.Package) string {
			var channels []string
			for _, c := range p.Channels {
				channels = append(channels, c.Name+" at "+c.CsvName+" "+c.GetDeprecation().GetMessage())
			}
			return fmt.Sprintf("%s %s %q %s", p.Name, p.DefaultChannelName, channels, p.Deprecation.Message)
		}), []string{`oak stable ["fast at oak.v3.0.0 too fast" "stable at oak.v3.0.0 "] plant beeches`}},
		{"no such package", one(r.Package(ctx, "elm"))((*api.Package).GetName), []string{"NotFound"}},
		{"list", texts(r.Bundles(ctx), bundleText), []string{
			"oak/fast oak.v1.0.0: too old",
			"oak/fast oak.v2.0.0 <- oak.v1.0.0 []",
			"oak/fast oak.v3.0.0 <- oak.v1.0.0 [oak.v2.0.0]",
			"ash/only ash.v1.0.0 csv, 1 objects",
			"oak/stable oak.v1.0.0 <- oak.v0.9.0 []: too old",
			"oak/stable oak.v2.0.0 <- oak.v1.0.0 []",
			"oak/stable oak.v3.0.0 <- oak.v2.0.0 [oak.v1.5.0]",
		}},
		{"bundle", one(r.Bundle(ctx, "oak", "stable", "oak.v3.0.0"))(func(b *api.Bundle) string {
			return fmt.Sprintf("%s %s %s %v %v %d", b.CsvName, b.Version, b.BundlePath,
				b.ProvidedApis[0].Kind, b.Dependencies[0].Type, len(b.Properties))
		}), []string{"oak.v3.0.0 3.0.0 registry.example/oak:v3.0.0 Oak olm.gvk 3"}},
		{"skip range", one(r.Bundle(ctx, "oak", "stable", "oak.v2.0.0"))((*api.Bundle).GetSkipRange), []string{"<2.0.0"}},
		{"bundle with manifests", one(r.Bundle(ctx, "ash", "only", "ash.v1.0.0"))(bundleText),
			[]string{"ash/only ash.v1.0.0 csv, 1 objects"}},
		{"no such bundle", one(r.Bundle(ctx, "oak", "stable", "oak.v9.0.0"))(bundleText), []string{"NotFound"}},
		{"no such channel", one(r.Bundle(ctx, "oak", "slow", "oak.v3.0.0"))(bundleText), []string{"NotFound"}},
		{"head", one(head(ctx, r.Client, "oak", "fast"))(bundleText), []string{"oak/fast oak.v3.0.0"}},
		{"no such head", one(head(ctx, r.Client, "oak", "slow"))(bundleText), []string{"NotFound"}},
		{"replacement", one(r.Replacement(ctx, "oak", "stable", "oak.v1.5.0"))(bundleText),
			[]string{"oak/stable oak.v3.0.0"}},
		{"replacement nearest to the head", one(r.Replacement(ctx, "oak", "fast", "oak.v1.0.0"))(bundleText),
			[]string{"oak/fast oak.v3.0.0"}},
		{"replacement of what is not there", one(r.Replacement(ctx, "oak", "stable", "oak.v0.9.0"))(bundleText),
			[]string{"oak/stable oak.v1.0.0: too old"}},
		{"no replacement", one(r.Replacement(ctx, "oak", "stable", "oak.v3.0.0"))(bundleText), []string{"NotFound"}},
		{"entries that replace", texts(r.EntriesThatReplace(ctx, "oak.v2.0.0"), entryText), []string{
			"oak/fast oak.v1.0.0 -> oak.v3.0.0", "oak/stable oak.v2.0.0 -> oak.v3.0.0",
		}},
		{"no entries that replace", texts(r.EntriesThatReplace(ctx, "oak.v3.0.0"), entryText), []string{"NotFound"}},
		{"entries that provide", texts(r.EntriesThatProvide(ctx, group, "v1", "Oak"), entryText), []string{
			"ash/only  -> ash.v1.0.0",
			"oak/fast oak.v1.0.0 -> oak.v2.0.0", "oak/fast oak.v1.0.0 -> oak.v3.0.0", "oak/fast oak.v2.0.0 -> oak.v3.0.0",
			"oak/stable oak.v1.0.0 -> oak.v2.0.0", "oak/stable oak.v2.0.0 -> oak.v3.0.0",
			"oak/stable oak.v1.5.0 -> oak.v3.0.0",
		}},
		{"latest entries that provide", texts(r.LatestEntriesThatProvide(ctx, group, "v1", "Oak"), entryText), []string{
			"ash/only  -> ash.v1.0.0",
			"oak/fast oak.v1.0.0 -> oak.v3.0.0", "oak/fast oak.v2.0.0 -> oak.v3.0.0", "oak/stable oak.v2.0.0 -> oak.v3.0.0",
		}},
		{"no entries that provide", texts(r.EntriesThatProvide(ctx, group, "v2", "Oak"), entryText), []string{"NotFound"}},
		{"no latest entries that provide", texts(r.LatestEntriesThatProvide(ctx, group, "v1", "Elm"), entryText),
			[]string{"NotFound"}},
		{"default provider", one(r.DefaultProvider(ctx, group, "v1", "Oak"))(bundleText),
			[]string{"ash/only ash.v1.0.0 csv, 1 objects"}},
		{"no default provider", one(r.DefaultProvider(ctx, group, "v1", "Elm"))(bundleText), []string{"NotFound"}},
	} {
		if !slices.Equal(test.got, test.want) {
			t.Errorf("%s: got\n\t%s\nwant\n\t%s", test.question,
				strings.Join(test.got, "\n\t"), strings.Join(test.want, "\n\t"))
		}
	}
	r.log.wait(t, "msg=ready")
	if text := r.log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "msg=ready") {
		t.Errorf("the log of a healthy server holds more than that it is ready:\n%s", text)
	}
}

func head(ctx context.Context, c *client.Client, pkg, channel string) (*api.Bundle, error) {
	req := &api.GetBundleInChannelRequest{PkgName: pkg, ChannelName: channel}
	return api.NewRegistryClient(c.Conn()).GetBundleForChannel(ctx, req) //nolint:staticcheck // deprecated, but served
}

// TestNotFound checks that missing objects are reported in the words of upstream.
func TestNotFound(t *testing.T) {
	r := run(t, Options{}, catalogDir(t, trees)).ready(t)
	_, err := r.Package(t.Context(), "elm")
	if !errors.Is(err, client.ErrNotFound) || !strings.Contains(err.Error(), `package "elm" not found`) {
		t.Errorf("got %v", err)
	}
}

// TestCustomSchemas requests objects of custom schemas of any name.
func TestCustomSchemas(t *testing.T) {
	r := run(t, Options{}, catalogDir(t, trees)).ready(t)
	ctx := t.Context()
	for _, test := range []struct {
		schema, pkg string
		want        []string
	}{
		{"example.Leaf/v1", "oak", []string{"3"}},
		{"example.Leaf/v1", "", []string{"4"}},
		{"example.Leaf/v1", "ash", nil},
		{"olm.bundle", "oak", nil},
		{"", "oak", []string{"InvalidArgument"}},
	} {
		var got []string
		for s, err := range r.CustomMetas(ctx, test.schema, test.pkg) {
			if err != nil {
				got = append(got, status.Code(err).String())
				continue
			}
			got = append(got, fmt.Sprint(s.AsMap()["size"]))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("schema %q, package %q: got %v, want %v", test.schema, test.pkg, got, test.want)
		}
	}
	unaware, err := api.NewExperimentalRegistryClient(r.Conn()).ExperimentalListPackageCustomSchemas(ctx,
		&api.ExperimentalListPackageCustomSchemasRequest{Schema: "example.Leaf/v1", PackageName: "oak"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := unaware.Recv(); got != nil || status.Code(err) == codes.Unimplemented {
		t.Errorf("a client that does not acknowledge got %v, %v", got, err)
	}
}

// TestUnknownMethod checks that an unknown method has the code of gRPC.
func TestUnknownMethod(t *testing.T) {
	r := run(t, Options{}, catalogDir(t, trees)).ready(t)
	err := r.Conn().Invoke(t.Context(), "/api.Registry/GetEverything", &api.ListBundlesRequest{}, &api.Bundle{})
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("got %v", err)
	}
}

// TestEmpty serves an empty catalog.
func TestEmpty(t *testing.T) {
	r := run(t, Options{}, t.TempDir()).ready(t)
	if got := texts(r.Packages(t.Context()), itself); len(got) > 0 {
		t.Errorf("packages: got %q", got)
	}
	if got := texts(r.Bundles(t.Context()), bundleText); len(got) > 0 {
		t.Errorf("bundles: got %q", got)
	}
}
