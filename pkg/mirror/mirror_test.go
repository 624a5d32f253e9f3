package mirror

import (
	"testing"
)

// TestMirror checks that a mirror has everything, that the source sends each blob once, and that a second run neither
// reads nor writes blobs and manifests. Sources and targets with and without the API for referrers are combined.
func TestMirror(t *testing.T) {
	for _, api := range [][2]bool{{true, true}, {true, false}, {false, true}, {false, false}} {
		from, to := newPottery(t, api[0]), newRegistry(t, api[1])
		opener := from.opener(t)
		target, err := ToRegistry(opener, to.host+"/mirror")
		if err != nil {
			t.Fatal(err)
		}
		_, record := mustRun(t.Context(), t, from.images(t, Names{}), target, Options{Opener: opener})
		for digest, n := range from.sent {
			if n > 1 {
				t.Errorf("%v: blob %s was sent %d times", api, digest, n)
			}
		}
		if to.mounts == 0 {
			t.Errorf("%v: no blob was mounted", api)
		}
		from.checkMirror(t, to, "mirror/")
		from.reset()
		to.reset()
		p, _ := mustRun(t.Context(), t, from.images(t, Names{}), target, Options{Opener: opener, Last: record})
		if from.bytes > 0 || to.wrote() > 0 {
			t.Errorf("%v: second run: %d bytes were read, and %d manifests written: %v", api, from.bytes, to.wrote(), to.asked)
		}
		if r := p.Report(); r.Total.Missing > 0 || len(r.Obsolete) > 0 {
			t.Errorf("%v: second run: %+v", api, r)
		}
	}
}
