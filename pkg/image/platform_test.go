package image

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	ggcrremote "github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// indexOf returns an index of images by platform; "" means a descriptor without a platform.
func indexOf(t testing.TB, images map[string]mutate.Appendable) v1.ImageIndex {
	t.Helper()
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for platform, img := range images {
		add := mutate.IndexAddendum{Add: img}
		if platform != "" {
			p, err := v1.ParsePlatform(platform)
			if err != nil {
				t.Fatal(err)
			}
			add.Platform = p
		}
		index = mutate.AppendManifests(index, add)
	}
	return index
}

func TestPlatforms(t *testing.T) {
	of := func(name string) v1.Image { return imageOf(t, map[string]string{"is": name}, tarOf(t, name+"=1")) }
	amd, arm6, arm7, arm64, none := of("amd64"), of("arm6"), of("arm7"), of("arm64"), of("none")
	multi := indexOf(t, map[string]mutate.Appendable{"linux/amd64": amd, "linux/arm/v6": arm6, "linux/arm/v7": arm7,
		"linux/arm64": arm64, "unknown/unknown": none})
	docker := mutate.IndexMediaType(indexOf(t, map[string]mutate.Appendable{"linux/amd64": amd,
		"windows/amd64": none}), types.DockerManifestList)
	tests := []struct {
		name, platform string
		index          v1.ImageIndex
		want, err      string
	}{
		{"one of many", "linux/arm64", multi, "arm64", ""},
		{"variant", "linux/arm/v7", multi, "arm7", ""},
		{"variant that is the default", "linux/arm64/v8", multi, "arm64", ""},
		{"variant of one that has none", "linux/arm/v7", indexOf(t, map[string]mutate.Appendable{"linux/arm": arm7}), "arm7", ""},
		{"lowest variant", "linux/amd64/v1", multi, "amd64", ""},
		{"docker", "linux/amd64", docker, "amd64", ""},
		{"missing", "linux/s390x", multi, "", "no image for linux/s390x, only for linux/amd64, linux/arm/v6, " +
			"linux/arm/v7, linux/arm64: choose one as the platform"},
		{"variant missing", "linux/arm/v5", multi, "", "no image for linux/arm/v5"},
		{"attestations only", "linux/amd64", indexOf(t, map[string]mutate.Appendable{"unknown/unknown": none}), "",
			"no image for linux/amd64: the index is empty"},
		{"nested", "linux/arm64", indexOf(t, map[string]mutate.Appendable{"": multi}), "arm64", ""},
		{"nested by platform", "linux/arm64", indexOf(t, map[string]mutate.Appendable{"linux/arm64": multi}), "arm64", ""},
		{"without platform", "linux/s390x", indexOf(t, map[string]mutate.Appendable{"": none}), "none", ""},
		{"platform before none", "linux/amd64", indexOf(t, map[string]mutate.Appendable{"": none, "linux/amd64": amd}),
			"amd64", ""},
		{"empty", "linux/amd64", indexOf(t, nil), "", "the index is empty"},
		{"deep", "linux/amd64", deepIndex(t, amd, 8), "", "larger than allowed: indexes in indexes"},
	}
	registry := newRegistry(t)
	for n, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := fmt.Sprintf("%s/org/multi%d:v1", registry.host, n)
			if err := ggcrremote.WriteIndex(mustReference(t, text), tt.index); err != nil {
				t.Fatal(err)
			}
			opts := testOptions(t)
			opts.Platform = tt.platform
			img, err := Open(t.Context(), text, opts)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("got %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer img.Close()
			if img.Labels["is"] != tt.want || img.RefDigest != digestOf(t, tt.index) || img.Digest == img.RefDigest {
				t.Errorf("got %v, %s, %s", img.Labels, img.Digest, img.RefDigest)
			}
		})
	}
	if p, err := parsePlatform(""); err != nil || p.String() != "linux/"+runtime.GOARCH {
		t.Errorf("the default is %v, %v", p, err)
	}
}

func deepIndex(t testing.TB, img v1.Image, depth int) v1.ImageIndex {
	t.Helper()
	index := indexOf(t, map[string]mutate.Appendable{"linux/amd64": img})
	for range depth {
		index = indexOf(t, map[string]mutate.Appendable{"": index})
	}
	return index
}
