//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// templateJobs returns the rows about the basic templates PACKAGE/FILE in a directory. Each template is rendered by a
// process of its own. The templates, with images of the slow registry in place of their images, and the image cache,
// which is empty at first, are written to dir.
func templateJobs(templates, dir string, images imageServer, delay time.Duration) ([]job, error) {
	files, err := filepath.Glob(filepath.Join(templates, "*", "*"))
	if err != nil {
		return nil, err
	}
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	known := map[string]string{}
	n := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if !bytes.Contains(text, []byte("schema: olm.template.basic")) {
			continue // a semver template is invalid with the versions and packages of other images
		}
		name := filepath.Join(dir, fmt.Sprintf("%03d.yaml", n))
		if err := os.WriteFile(name, withImages(text, images, known), 0o666); err != nil {
			return nil, err
		}
		n++
	}
	name := fmt.Sprintf("render-template, %d templates, %d images, %v a request", n, len(known), delay)
	all := `for t in "$2"/*.yaml; do "$1" render-template --use-http --image-cache "$2/cache" "$t" || exit 1; done`
	return []job{
		{name: name, shell: `rm -rf "$2/cache"; ` + all, args: []string{dir}, ownFlags: true,
			budget: budget{time.Minute, 200 * mb}},
		{name: name + ", again", shell: all, args: []string{dir}, ownFlags: true,
			budget: budget{10 * time.Second, 200 * mb}},
	}, nil
}

var imageLine = regexp.MustCompile(`image: *\n? *\S+`)

// withImages returns a template with images of the slow registry in place of its images.
func withImages(text []byte, images imageServer, known map[string]string) []byte {
	return imageLine.ReplaceAllFunc(text, func(line []byte) []byte {
		ref := strings.Fields(string(line))[1]
		if known[ref] == "" {
			known[ref] = images.Slow + "/" + images.Images[len(known)%len(images.Images)]
		}
		return []byte("image: " + known[ref])
	})
}
