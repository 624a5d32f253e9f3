package pipeline

import (
	"io"

	"github.com/opm-toolchain/opm/internal/compose"
	"github.com/opm-toolchain/opm/internal/diff"
	"github.com/opm-toolchain/opm/internal/publish"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/render"
	"github.com/opm-toolchain/opm/pkg/template"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// Options configure a run. The functions that have no default must be set if a step of the run calls them.
type Options struct {
	// Name is the name of the catalog in the summary; "" means its Sources.
	Name string
	// Sources are the catalog directory or, with Making, the config of compose or the templates.
	Sources []string
	// Making is the step that makes the catalog, Compose or Template. "" means that there is one already.
	Making Step

	Tags     []string // references to publish the image as
	Skip     []Step   // see ParseSteps
	DryRun   bool     // do not push, sign or tag
	Sign     bool     // sign the image with cosign
	SignArgs []string // of cosign sign

	// Open opens a catalog, images for this platform. "" is the platform of Registry.
	Open func(platform, ref string) (catalog *render.Catalog, closeAll func(), err error)
	// Registry configures the access to registries. Its Cache is not closed.
	Registry image.Options

	Compose  compose.Options  // all but Dir
	Template template.Options // of templates
	// Pull renders the bundles of a template, which can be read until closeAll is called.
	Pull func(t *template.Template) (bundles *template.Bundles, closeAll func(), err error)
	Lock string // lock file of the bundles of templates, "" for none

	// Validate returns the options for validating the catalog and templates.
	Validate func() (validate.Options, error)
	// Reported returns the problems to report, with their severities.
	Reported func([]*problem.Problem) ([]*problem.Problem, error)
	// Resolve has the versions of OLM to ask, and the options.
	Resolve resolve.Check
	// Dependencies opens other catalogs of the cluster, which may have dependencies.
	Dependencies func() (catalogs []*resolve.Catalog, closeAll func(), err error)

	// Against is the catalog to compare with. If it is "", it is the image at the first tag, which need not exist.
	Against string
	FailOn  []diff.Kind // changes that are refused

	// Build has all options of the image but Platforms.
	Build     publish.Options
	Platforms []string // of the image
	// OpenPlatforms opens the programs and base images for Platforms, or returns those that it has opened for another
	// catalog. They must be open until Run returns.
	OpenPlatforms func() ([]publish.Platform, error)
	// CheckBase is called before the build of a catalog directory, to warn of bases that do not match.
	CheckBase func(dir string, platforms []publish.Platform) error

	Progress   Progress
	Warn       func(*declcfg.Error)           // called for flaws of templates
	WarnIfNone func(packages int, dir string) // called with the number of packages read from the catalog
	Note       func(line string)              // called for what users should see at once, such as commands
	Output     io.Writer                      // output of cosign
}

// A Progress shows the progress of a run.
type Progress interface {
	// Start shows a name of the work until done is called. It also shows the share of the files of refs that is read.
	Start(what string, refs ...string) (done func())
	// Count sets the number of items of the work, Did counts one of them.
	Count(total int, noun string)
	Did(item string)
}

// before returns the reference to compare the catalog with, "" for none.
func (o *Options) before() string {
	if o.Against == "" && len(o.Tags) > 0 {
		return o.Tags[0]
	}
	return o.Against
}
