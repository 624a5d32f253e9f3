package console

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestDisplay checks that the progress line shows the counts of a command.
func TestDisplay(t *testing.T) {
	c := New(new(strings.Builder))
	d := Display{c}
	done := d.Start("checking")
	defer done()
	if w := d.work(); w != c.Work() {
		t.Errorf("counts in %v, shows %v", w, c.Work())
	}
	if size := sizeOfFiles([]string{"."}, func() bool { return true }); size != 0 {
		t.Errorf("%d bytes were counted after the end of the work", size)
	}
	if size := sizeOfFiles([]string{".", "quay.io/a:v1"}, func() bool { return false }); size == 0 {
		t.Error("files have no bytes")
	}
}

// TestTransfers checks that the bytes of requests and responses are counted.
func TestTransfers(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
		_, _ = io.WriteString(w, "!")
	}))
	t.Cleanup(server.Close)
	var received, sent int
	client := http.Client{Transport: countingTransport{
		http.DefaultTransport, func(n int) { received += n }, func(n int) { sent += n },
	}}
	response, err := client.Post(server.URL, "text/plain", strings.NewReader("layer"))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err != nil || string(text) != "layer!" || received != 6 || sent != 5 {
		t.Errorf("got %q, %v, %d bytes received, %d sent", text, err, received, sent)
	}
}

// TestProgressInLog checks that only logged work shows progress where standard error is no terminal.
func TestProgressInLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		d := Display{NewStderr(&log)}
		done := d.Start("checking")
		time.Sleep(time.Hour)
		done()
		if log.Len() > 0 {
			t.Errorf("got %q", &log)
		}
		done = d.StartLogged("mirroring")
		d.Count(2, "images")
		d.Did("a")
		time.Sleep(90 * time.Second)
		done()
		if got, want := log.String(), "opm: mirroring 1 of 2 images, 60 s, a\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if to := File(d.Stderr); to != &log {
			t.Errorf("a program would write to %T", to)
		}
	})
}
