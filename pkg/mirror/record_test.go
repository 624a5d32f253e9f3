package mirror

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadRecord checks that a truncated or changed record is rejected.
func TestReadRecord(t *testing.T) {
	const hash = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	const whole = `{"format":1,"target":"","images":[{"source":"a","repository":"a","digest":"` + hash +
		`","manifests":[{"digest":"` + hash + `","size":0,"mediaType":""}]}],"obsolete":[]}`
	file := filepath.Join(t.TempDir(), RecordFile)
	read := func(text string) error {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadRecord(file)
		return err
	}
	if err := read(whole); err != nil {
		t.Fatal(err)
	}
	for _, tt := range [][3]string{
		{whole[50:], "", "it was cut off, or is not a record"},
		{`"format":1`, `"format":2`, "it is from another version of opm"},
		{`"images":[`, `"images":[null,`, "an image is null"},
		{`"obsolete":[`, `"obsolete":[null`, "an image is null"},
		{`"manifests"`, `"Manifests"`, `image "a" has no manifest "` + hash},
		{`"digest":"` + hash + `","m`, `"m`, `image "a" has no manifest ""`},
		{`"digest":"` + hash + `","size"`, `"digest":"../../x","size"`, "not a record"},
	} {
		if err := read(strings.Replace(whole, tt[0], tt[1], 1)); err == nil || !strings.Contains(err.Error(), tt[2]) {
			t.Errorf("%s instead of %s: got %v, want %s", tt[1], tt[0], err, tt[2])
		}
	}
}
