package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	helper "github.com/docker/docker-credential-helpers/client"
	"github.com/docker/docker-credential-helpers/credentials"
	"github.com/google/go-containerregistry/pkg/authn"
)

// errNotInstalled is the error for a credential helper whose program does not exist.
var errNotInstalled = errors.New("is not installed")

// helperTime is the timeout of a credential helper, which may ask the user. Tests change it.
var helperTime = time.Minute

// askHelper runs docker-credential-NAME to get the credentials for a registry. The zero AuthConfig means none.
// Podman's library can run helpers too, but cannot cancel them.
func askHelper(ctx context.Context, name, server string) (authn.AuthConfig, error) {
	program := "docker-credential-" + name
	late := fmt.Errorf("%s for %s: no answer within %v", program, server, helperTime)
	ctx, cancel := context.WithTimeoutCause(ctx, helperTime, late)
	defer cancel()
	if _, err := exec.LookPath(program); err != nil {
		return authn.AuthConfig{}, fmt.Errorf("%s %w", program, errNotInstalled)
	}
	got, err := helper.Get(func(args ...string) helper.Program {
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.WaitDelay = time.Second // its child processes may keep the output open
		return helperProgram{cmd}
	}, server)
	switch {
	case ctx.Err() != nil:
		return authn.AuthConfig{}, context.Cause(ctx)
	case credentials.IsErrCredentialsNotFound(err):
		return authn.AuthConfig{}, nil
	case err != nil:
		return authn.AuthConfig{}, fmt.Errorf("%s for %s: %w", program, server, err)
	case got.Username == "<token>":
		return authn.AuthConfig{IdentityToken: got.Secret}, nil
	}
	return authn.AuthConfig{Username: got.Username, Password: got.Secret}, nil
}

// A helperProgram is one run of a credential helper.
type helperProgram struct{ *exec.Cmd }

func (p helperProgram) Input(in io.Reader) { p.Stdin = in }

// Output runs the program. Its error includes stderr, because not all helpers report errors on stdout as they should.
func (p helperProgram) Output() ([]byte, error) {
	out, err := p.Cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && len(exit.Stderr) > 0 {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	return out, err
}
