package image_test

import (
	"context"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"testing/fstest"

	"github.com/opm-toolchain/opm/pkg/image"
)

// Build the image of a catalog into an OCI layout, open it, and read a file.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	catalog := fstest.MapFS{"kiln.yaml": {Data: []byte("{schema: olm.package, name: kiln}\n")}}
	built, err := image.Build(image.BuildOptions{
		Contents: []image.Content{{Source: catalog, Target: "configs"}},
		Labels:   map[string]string{image.LabelConfigs: "/configs"},
		Platform: "linux/amd64",
	})
	if err != nil {
		log.Fatal(err)
	}
	layout := filepath.Join(dir, "layout")
	if err := image.WriteLayout(built, layout, "v1"); err != nil {
		log.Fatal(err)
	}

	img, err := image.Open(ctx, "oci:"+layout+":v1", image.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer img.Close()
	_, configs, err := img.Kind()
	if err != nil {
		log.Fatal(err)
	}
	files, err := img.Files(ctx, configs)
	if err != nil {
		log.Fatal(err)
	}
	text, err := fs.ReadFile(files, "kiln.yaml")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s, %s: %s", img.Platform, configs, text)
	// Output:
	// linux/amd64, /configs: {schema: olm.package, name: kiln}
}
