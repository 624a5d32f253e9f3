package process

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/opm-toolchain/opm/internal/regular"
)

// TerminationLog is the file from which Kubernetes reads the reason why a container ended.
const TerminationLog = "/dev/termination-log"

// maxTerminationLog is the maximum number of bytes that Kubernetes reads from the file.
const maxTerminationLog = 4096

// WriteTerminationLog writes lines with the reason why the process ends to the named file, if the file exists or asked
// is true. "" is no file. Lines that Kubernetes would not read are left out.
func WriteTerminationLog(name string, asked bool, lines string) error {
	flags := os.O_WRONLY | os.O_TRUNC
	if asked {
		flags |= os.O_CREATE
	}
	if name == "" {
		return nil
	}
	f, err := regular.CreateNamed(name, flags, 0o666)
	if errors.Is(err, fs.ErrNotExist) && !asked {
		return nil // not a container in a cluster
	}
	if err != nil {
		return err
	}
	if len(lines) > maxTerminationLog {
		const more = "...\n"
		kept := lines[:maxTerminationLog-len(more)]
		lines = kept[:strings.LastIndexByte(kept, '\n')+1] + more
	}
	_, err = io.WriteString(f, lines)
	return errors.Join(err, f.Close())
}
