package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"

	"github.com/opm-toolchain/opm/internal/shell"
)

// A Signer signs images with cosign.
type Signer struct {
	program string
	args    []string
}

// NewSigner returns a Signer that passes args to cosign. It is an error if cosign is not in PATH.
func NewSigner(args []string) (*Signer, error) {
	program, err := exec.LookPath("cosign")
	if err != nil {
		return nil, errors.New("cosign is not in PATH: install it, or do not sign")
	}
	return &Signer{program, args}, nil
}

// command returns the arguments of cosign to sign an image, given by digest.
func (s *Signer) command(image string) []string {
	return slices.Concat([]string{"sign", "--yes"}, s.args, []string{image})
}

// CommandLine returns the command that Sign runs, quoted for a shell.
func (s *Signer) CommandLine(image string) string {
	return shell.Join(append([]string{"cosign"}, s.command(image)...)...)
}

// Sign signs an image, given by digest. It writes the output of cosign to out.
func (s *Signer) Sign(ctx context.Context, image string, out io.Writer) error {
	cmd := exec.CommandContext(ctx, s.program, s.command(image)...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("cosign: %w", err)
	}
	return nil
}
