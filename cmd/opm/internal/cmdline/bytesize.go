package cmdline

import (
	"errors"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"
)

// A ByteSize is the value of a flag: a number of bytes, written as a Kubernetes quantity. Zero means not given.
type ByteSize int64

// String returns the number of bytes, "" for zero.
func (s *ByteSize) String() string {
	if *s == 0 {
		return ""
	}
	return resource.NewQuantity(int64(*s), resource.DecimalSI).String()
}

// Type returns the name of the value in help texts.
func (s *ByteSize) Type() string { return "size" }

// Set parses a quantity.
func (s *ByteSize) Set(text string) error {
	q, err := resource.ParseQuantity(text)
	if err != nil || q.Value() <= 0 {
		return errors.New("want a number of bytes, such as 500M or 2Gi")
	}
	*s = ByteSize(q.Value())
	return nil
}

// Size returns the value of a ByteSize flag, 0 if the command has no such flag or it was not given.
func Size(cmd *cobra.Command, name string) int64 {
	if f := cmd.Flag(name); f != nil {
		return int64(*f.Value.(*ByteSize))
	}
	return 0
}
