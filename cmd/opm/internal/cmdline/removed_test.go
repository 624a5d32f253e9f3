package cmdline

import "testing"

func TestRemovedCommand(t *testing.T) {
	const sqlite = "; upstream's opm, up to v1.73.0, converts catalogs in SQLite: opm migrate"
	for _, tt := range []struct {
		path string
		args []string
		want string
	}{
		{"index", []string{"--debug", "rm"}, "opm index rm: this opm is for file-based catalogs only; run opm remove" + sqlite},
		{
			"registry", []string{"other"},
			"opm registry: this opm is for file-based catalogs only; run opm serve" + sqlite,
		},
		{
			"alpha veneer", []string{"basic"},
			"opm alpha veneer basic: this opm is for file-based catalogs only; run opm render-template basic",
		},
	} {
		cmd := RemovedCommand(tt.path)
		if err := cmd.RunE(cmd, tt.args); err == nil || err.Error() != tt.want {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}
