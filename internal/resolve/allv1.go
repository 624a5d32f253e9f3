package resolve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/parallel"
	manifests "github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// Installs says whether OLM v1 installs a bundle.
type Installs string

// The values of Installs.
const (
	InstallsYes     Installs = "yes"
	InstallsNo      Installs = "no"
	InstallsUnknown Installs = "unknown" // the catalog has no manifests, and its metadata are no reason against it
)

// A V1Answer says whether OLM v1 installs a package.
type V1Answer struct {
	Package  string     `json:"package"`
	Channel  string     `json:"channel,omitzero"` // the only channel of the ClusterExtension; "" for all
	Bundle   string     `json:"bundle,omitzero"`  // the bundle that OLM v1 resolves to; "" if there is none
	Version  string     `json:"version,omitzero"` // of the bundle
	Installs Installs   `json:"installs"`
	Reasons  []V1Reason `json:"reasons,omitzero"` // every reason against it, or why it is unknown

	needsImage bool // it is unknown only because images are not read
}

// A V1Reason is a reason why OLM v1 does not install a bundle, or why that is unknown.
type V1Reason struct {
	Kind    string `json:"kind"`    // the kind of the refusal, such as install-modes, or one of the kinds below
	Message string `json:"message"` // in the words of OLM
}

// The kinds of further reasons.
const (
	ReasonUnresolved = "unresolved" // OLM v1 finds no bundle, or refuses the ClusterExtension
	ReasonImage      = "image"      // the manifests are in the image, which is not read or cannot be read
)

// A V1Memo has the contents of bundles by the references to their images, which are read once.
type V1Memo map[string]v1Image

// A FoundImage takes the contents of the bundle in an image, or the error of reading it. It must not be called
// concurrently.
type FoundImage func(ref string, contents *manifests.Contents, err error)

// A v1Image is the content of a bundle image, or the error of reading it.
type v1Image struct {
	contents *manifests.Contents
	err      error
}

// A verdict says whether OLM v1 installs a bundle that it resolved to.
type verdict struct {
	err      error               // that it reports before it reads the bundle, or after it applied it
	refusals []manifests.Refusal // every reason against the bundle
	unknown  error               // why there may be further reasons; nil if there are none
	inImage  bool                // the refusals have no place in the catalog
}

// isRefused reports whether there is an error or a refusal.
func (v *verdict) isRefused() bool { return v.err != nil || len(v.refusals) > 0 }

// answer completes the answer about a bundle.
func (v *verdict) answer(a V1Answer) V1Answer {
	a.Installs = InstallsYes
	if v.unknown != nil {
		a.Installs, a.needsImage = InstallsUnknown, v.unknown == errNoImages
		a.Reasons = []V1Reason{{ReasonImage, v.unknown.Error()}}
	}
	if !v.isRefused() {
		return a
	}
	a.Installs, a.Reasons = InstallsNo, nil
	if v.err != nil {
		a.Reasons = append(a.Reasons, V1Reason{ReasonUnresolved, v.err.Error()})
	}
	for _, r := range v.refusals {
		text := r.Err.Error()
		if r.Kind == manifests.RefusedDependency {
			text = strings.TrimPrefix(text, fmt.Sprintf("validating bundle %q: ", a.Bundle))
		}
		a.Reasons = append(a.Reasons, V1Reason{string(r.Kind), text})
	}
	a.Reasons = slices.Compact(a.Reasons)
	return a
}

// errNoImages is the reason why the verdict on a bundle is unknown unless images are read.
var errNoImages = errors.New("not known without --images")

// errNoReference is the reason why the verdict on a bundle is unknown if it has no image.
var errNoReference = errors.New("not known: the bundle has neither manifests nor an image")

// judge returns the verdict on a bundle.
func (p *packageCheck) judge(request *V1Request, b *graph.Bundle) *verdict {
	v := &verdict{}
	if b.Version == nil {
		v.err = checkResolved(b)
		return v
	}
	contents := p.catalog.contents(p.x.Name, b.Name)
	if contents == nil {
		v.unknown = errNoReference
		return v
	}
	if contents.Partial {
		image := p.catalog.bundle(p.x.Name, b.Name).Value.Image
		read, ok := p.Memo[image]
		switch {
		case image == "":
			v.unknown = errNoReference
		case !ok:
			v.unknown = errNoImages
		case read.err != nil:
			v.unknown = fmt.Errorf("not known: %w", read.err)
		default:
			all := *read.contents
			all.Dependencies = contents.Dependencies // OLM looks for them in the catalog
			contents, v.inImage = &all, true
		}
	}
	v.refusals, v.err = contents.Refusals(request.options()), checkStatus(b)
	return v
}

// askV1 resolves all questions of every channel with OLM v1, and lists what it installs.
func (p *packageCheck) askV1() {
	g := graph.NewPackage(p.x)
	request := &V1Request{
		Package: p.x.Name, SingleOwnNamespace: p.SingleOwnNamespace, Releases: p.Releases, Target: p.Target,
	}
	verdicts := map[*graph.Bundle]*verdict{}
	judge := func(b *graph.Bundle) *verdict {
		if verdicts[b] == nil {
			verdicts[b] = p.judge(request, b)
		}
		return verdicts[b]
	}
	asked := map[*graph.Bundle]bool{}
	for _, c := range g.Channels {
		notAdmitted := (&V1Request{Package: g.Name, Channels: []string{c.Name}}).Admit().ToAggregate()
		ask := func(installed string, b *graph.Bundle, err error) {
			p.v1Tally.Questions++
			v := &verdict{err: cmp.Or[error](notAdmitted, err)}
			if v.err == nil {
				v = judge(b)
			}
			if v.isRefused() {
				p.v1Tally.Unresolved++
				p.addV1Effect(b, v, effect{channel: c.Name, installed: installed})
			}
		}
		plan := g.V1(graph.V1Options{Channels: []*graph.Channel{c}, Releases: p.Releases})
		goal := plan.Goal()
		asked[goal] = true
		ask("", goal, unresolved(g.Name, goal, c.Name))
		if p.ByChannel {
			p.list(g, goal, judge, c.Name)
		}
		for _, e := range c.Entries() {
			b := g.Bundle(e.Name)
			if b.Virtual {
				continue
			}
			to := b // which stays
			err := plan.Err(b)
			if refusal, ok := errors.AsType[*graph.RefusalError](err); ok {
				to, err = refusal.Bundle, nil // judged with its other reasons
			} else if next, ok := plan.Next(b); ok && err == nil {
				to = next.To
			}
			ask(b.Name, to, err)
		}
	}
	goal := g.V1(graph.V1Options{Releases: p.Releases}).Goal()
	if !p.ByChannel {
		p.list(g, goal, judge)
	}
	if goal != nil && !asked[goal] && judge(goal).isRefused() { // it is in no channel
		p.addV1Effect(goal, judge(goal), effect{})
	}
}

// unresolved returns the error if OLM v1 resolves to no bundle.
func unresolved(pkg string, goal *graph.Bundle, channels ...string) error {
	if goal != nil {
		return nil
	}
	return &graph.UnresolvedError{Package: pkg, Channels: channels}
}

// list adds the answer about a ClusterExtension with some channels, which resolves to goal or nil.
func (p *packageCheck) list(
	g *graph.Package, goal *graph.Bundle, judge func(*graph.Bundle) *verdict, channels ...string,
) {
	a := V1Answer{Package: g.Name, Channel: append(channels, "")[0]}
	if goal != nil {
		a.Bundle = goal.Name
		if goal.Version != nil {
			a.Version = goal.Version.String()
		}
	}
	notAdmitted := (&V1Request{Package: g.Name, Channels: channels}).Admit().ToAggregate()
	v := &verdict{err: cmp.Or[error](notAdmitted, unresolved(g.Name, goal, channels...))}
	if v.err == nil {
		v = judge(goal)
	}
	p.answers = append(p.answers, v.answer(a))
}

// readImages reads the bundles that OLM v1 resolves to, and of which the catalog has no manifests, from their images.
func (c *Check) readImages(ctx context.Context, packages []*declcfg.PackageIndex) error {
	if c.Memo == nil {
		c.Memo = V1Memo{}
	}
	var refs []string
	for all := range parallel.Map(ctx, 0, slices.Values(packages), c.imagesOf) {
		for _, ref := range all {
			if _, known := c.Memo[ref]; !known && !slices.Contains(refs, ref) {
				refs = append(refs, ref)
			}
		}
	}
	if len(refs) == 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	return c.Images(ctx, refs, func(ref string, contents *manifests.Contents, err error) {
		if err == nil && contents.Partial {
			err = fmt.Errorf("image %s: %w", ref, manifests.ErrNoManifests)
		}
		c.Memo[ref] = v1Image{contents, err}
	})
}

// imagesOf returns the images of the bundles that OLM v1 resolves to, and of which the catalog has no manifests.
func (c *Check) imagesOf(x *declcfg.PackageIndex) (refs []string) {
	g, catalog := graph.NewPackage(x), c.Namespace.Catalogs[0]
	goals := []*graph.Bundle{g.V1(graph.V1Options{Releases: c.Releases}).Goal()}
	for _, ch := range g.Channels {
		goals = append(goals, g.V1(graph.V1Options{Channels: []*graph.Channel{ch}, Releases: c.Releases}).Goal())
	}
	for _, b := range goals {
		if b == nil {
			continue
		}
		contents := catalog.contents(x.Name, b.Name)
		if ref := catalog.bundle(x.Name, b.Name).Value.Image; contents != nil && contents.Partial && ref != "" {
			refs = append(refs, ref)
		}
	}
	return refs
}

// addV1Effect records an effect for the causes of a verdict on a bundle, which may be nil if there is an error.
func (p *packageCheck) addV1Effect(b *graph.Bundle, v *verdict, e effect) {
	if v.err != nil {
		c, _ := p.cause(ruleV1Unresolved, v.err.Error())
		c.text = v.err.Error()
		c.addEffect(ruleV1Unresolved, e)
	}
	added := map[*cause]bool{}
	for _, r := range v.refusals {
		c := p.refusalCause(b, r, v.inImage)
		if !added[c] {
			added[c] = true
			c.addBundle(b.Name)
			c.addEffect(ruleV1NotInstallable, e)
		}
	}
}

// refusalCause returns the cause for a reason against a bundle.
func (p *packageCheck) refusalCause(b *graph.Bundle, r manifests.Refusal, inImage bool) *cause {
	key := r.Err.Error()
	dependency, isDependency := errors.AsType[*graph.RefusalError](r.Err)
	if isDependency {
		key = dependency.Bundle.Dependency
	}
	c, known := p.cause(ruleV1NotInstallable, key)
	if known {
		return c
	}
	at := place{meta: p.catalog.bundle(p.x.Name, b.Name).Meta}
	if !inImage || isDependency {
		at.pointer = r.Pointer
	}
	c.pos, c.fix = at.find(), fixes[r.Kind]
	c.verb, c.plural, c.text = "cannot be installed:", "cannot be installed:", r.Err.Error()
	if isDependency {
		c.verb, c.plural = "has", "have"
		c.text = fmt.Sprintf("a dependency declared via property %q, which OLM v1 does not support", key)
	}
	return c
}

// fixes say what helps against a refusal.
var fixes = map[manifests.RefusalKind]string{
	manifests.RefusedDependency:   "use OLM Classic, or remove the dependency",
	manifests.RefusedAPIService:   "use OLM Classic, or remove the APIServices",
	manifests.RefusedInstallModes: "use OLM Classic, or support the install mode AllNamespaces",
}
