package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/template"
)

// compositeType is the type of template that has two files.
const compositeType = "composite"

// compositeFlags are the flags of render-template composite, the same as upstream's.
type compositeFlags struct {
	contribution, catalogs string
	validate, allowExec    bool
}

func (f *compositeFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.contribution, "composite-config", "c", "composite.yaml",
		"of composite templates, `FILE` with components")
	flags.StringVarP(&f.catalogs, "catalog-config", "f", "catalogs.yaml",
		"of composite templates, `FILE` or URL of the catalogs")
	flags.BoolVar(&f.validate, "validate", true, "of composite templates, validate the catalogs before they are written")
	flags.BoolVar(&f.allowExec, "allow-exec", false, "of composite templates, run the commands of custom builders")
}

func (f *templateFlags) runComposite(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) > 0:
		return usageError{fmt.Errorf("unexpected argument %q: use --composite-config", args[0])}
	case f.preview, f.targets != "", f.format == mermaid:
		return usageError{errors.New("composite templates have no --preview, --targets and -o mermaid")}
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
	defer display{cmd}.Start("rendering")()
	lock, err := c.Build(cmd.Context(), template.CompositeOptions{
		Options: f.opts, Bundles: opts, Format: declcfg.Format(f.format),
		AllowExec: f.composite.allowExec, Validate: f.composite.validate, Warn: warnOnce(cmd),
	})
	if err != nil || f.lock == "" {
		return err
	}
	return lock.WriteFile(f.lock)
}

// maxConfig is the size of the largest configuration that is read from a URL.
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

// warnOnce returns a function that prints a warning, unless it has printed it before.
func warnOnce(cmd *cobra.Command) func(*declcfg.Error) {
	said := map[string]bool{}
	return func(e *declcfg.Error) {
		if line := placed(e.Pos, "warning", e.Message()); !said[line] {
			said[line] = true
			fmt.Fprintln(cmd.ErrOrStderr(), line)
		}
	}
}
