//go:build unix

package main

import (
	"fmt"
	"path/filepath"
	"time"
)

// mirrorJobs returns the rows about mirroring n images of the slow registry: to a new directory in dir, and again to
// the same directory.
func mirrorJobs(dir string, images imageServer, n int, delay time.Duration) []job {
	args := []string{filepath.Join(dir, "mirror")}
	for _, ref := range images.refs(images.Slow, n) {
		args = append(args, "--image", ref)
	}
	const mirror = `program=$1 to=$2; shift 2; "$program" mirror --use-http --to-dir "$to" "$@"`
	name := fmt.Sprintf("mirror, %d images, %v a request", n, delay)
	return []job{
		{name: name, shell: `rm -rf "$2"; ` + mirror, args: args, ownFlags: true, budget: budget{5 * time.Second, 150 * mb}},
		{name: name + ", again", shell: mirror, args: args, ownFlags: true, budget: budget{2 * time.Second, 150 * mb}},
	}
}
