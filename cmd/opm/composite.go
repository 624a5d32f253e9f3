package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/pkg/template"
)

// compositeType is the type of template that has two files.
const compositeType = "composite"

// compositeFlags are the flags of render-template composite, the same as upstream's.
type compositeFlags struct {
	contribution, catalogs string
	validate, allowExec    bool
}

func (f *templateFlags) runComposite(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) > 0:
		return cmdline.Errorf("unexpected argument %q: use --composite-config", args[0])
	case f.preview, f.targets != "", f.format == mermaid:
		return cmdline.Errorf("composite templates have no --preview, --targets and -o mermaid")
	}
	contribution, err := regular.ReadNamed(f.composite.contribution)
	if err != nil {
		return fmt.Errorf("read template: %w", err)
	}
	catalogs, err := readFileOrURL(cmd, f.composite.catalogs)
	if err != nil {
		return fmt.Errorf("read catalogs: %w", err)
	}
	c, err := template.ParseComposite(f.composite.contribution, contribution, f.composite.catalogs, catalogs)
	if err != nil {
		return err
	}
	opts, closeAll, err := f.open(cmd)
	if err != nil {
		return err
	}
	defer closeAll()
	defer display(cmd).Start("rendering")()
	lock, err := c.Build(cmd.Context(), template.CompositeOptions{
		Options: f.opts, Bundles: opts, Format: f.format,
		AllowExec: f.composite.allowExec, Validate: f.composite.validate, Warn: warnOnce(cmd),
	})
	if err != nil || f.lock == "" {
		return err
	}
	return lock.WriteFile(f.lock)
}

// maxConfig is the maximum size of a configuration read from a URL, in bytes.
const maxConfig = 16 << 20

// readFileOrURL reads a file or a URL.
func readFileOrURL(cmd *cobra.Command, name string) ([]byte, error) {
	if !strings.HasPrefix(name, "https://") && !strings.HasPrefix(name, "http://") {
		return regular.ReadNamed(name)
	}
	req, err := http.NewRequestWithContext(cmd.Context(), http.MethodGet, name, http.NoBody)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Timeout: time.Minute}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("get %s: %s", name, resp.Status)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxConfig+1))
	if err == nil && len(text) > maxConfig {
		err = fmt.Errorf("get %s: more than %d MB", name, maxConfig>>20)
	}
	return text, err
}
