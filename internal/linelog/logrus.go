package linelog

import (
	"log/slog"

	"github.com/sirupsen/logrus"

	"github.com/opm-toolchain/opm/internal/legible"
)

// A Formatter formats entries of logrus as warnings and errors of commands. Podman's libraries log with logrus: the
// entries of credential files that they ignore.
type Formatter struct{}

// Format implements [logrus.Formatter].
func (Formatter) Format(e *logrus.Entry) ([]byte, error) {
	level := slog.LevelWarn
	if e.Level <= logrus.ErrorLevel {
		level = slog.LevelError
	}
	return []byte("opm: " + LevelName(level) + ": " + legible.Text(e.Message) + "\n"), nil
}
