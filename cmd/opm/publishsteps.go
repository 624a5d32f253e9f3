package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/compose"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/imagecheck"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/publish"
	"github.com/opm-toolchain/opm/pkg/publish/pipeline"
	"github.com/opm-toolchain/opm/pkg/resolve"
	"github.com/opm-toolchain/opm/pkg/template"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// doAll does all steps.
func (p *publication) doAll() {
	do := p.run.Do
	do(pipeline.Compose, p.compose)
	do(pipeline.Template, p.renderTemplates)
	do(pipeline.Validate, p.validate, p.making)
	reading := []pipeline.Step{p.making}
	if p.unreadable {
		reading = append(reading, pipeline.Validate)
	}
	do(pipeline.Resolve, p.resolve, reading...)
	do(pipeline.CheckImages, p.checkImages, reading...)
	do(pipeline.Diff, p.compare, reading...)
	do(pipeline.Build, p.buildImage, p.making, pipeline.Validate)
	do(pipeline.Push, p.push, p.making, pipeline.Validate, pipeline.Resolve, pipeline.CheckImages, pipeline.Diff,
		pipeline.Build, pipeline.Sign)
	do(pipeline.Sign, p.signImage, pipeline.Push)
	do(pipeline.Tag, p.setTags, pipeline.Push, pipeline.Sign)
}

func (p *publication) compose(r *pipeline.Result) error {
	f := composeFlags{
		dir: p.tmp, format: string(declcfg.YAML), images: p.build.images,
		level: p.rendering.level, migrate: p.rendering.migrate, jobs: p.rendering.jobs,
		dockerfile: dockerfileFlags{base: defaultImage, builder: defaultImage},
	}
	result, err := f.compose(p.cmd, p.args[0])
	if wrong, ok := errors.AsType[*compose.ProblemsError](err); ok && wrong.Unwrap() == nil {
		p.refuse(r, wrong.Problems)
		return nil
	}
	if err != nil {
		return err
	}
	p.dir, r.Note = result.Catalog, plural.Of(len(result.References), "reference")
	return nil
}

// rendered is the name of the catalog that templates are rendered to.
const rendered = "rendered"

func (p *publication) renderTemplates(r *pipeline.Result) error {
	defer progress(p.cmd, "rendering")()
	if err := p.checkTemplates(r); err != nil || r.Status == pipeline.Failed {
		return err
	}
	p.dir = filepath.Join(p.tmp, rendered)
	if err := os.Mkdir(p.dir, 0o777); err != nil {
		return err
	}
	var errs []error
	for _, file := range p.args {
		errs = append(errs, p.renderTemplate(file))
	}
	return errors.Join(errs...)
}

// checkTemplates reports everything that is wrong with the templates themselves.
func (p *publication) checkTemplates(r *pipeline.Result) error {
	var f validateFlags
	opts, err := f.options(p.config)
	if err != nil {
		return err
	}
	report := &problem.Report{Subject: "template"}
	for _, file := range p.args {
		problems, err := f.ofTemplate(p.cmd, file, opts)
		if err != nil {
			return err
		}
		report.Problems = append(report.Problems, problems...)
	}
	return p.show(r, report)
}

// renderTemplate adds the packages of a template to the catalog.
func (p *publication) renderTemplate(file string) error {
	t, err := readTemplate(p.cmd, template.Detect, file)
	if err != nil {
		return err
	}
	bundles, closeAll, err := p.rendering.pull(p.cmd, t)
	if err != nil {
		return err
	}
	defer closeAll()
	catalog, err := t.Render(p.cmd.Context(), bundles, p.rendering.opts)
	if err != nil {
		return err
	}
	stage := filepath.Join(p.tmp, "stage")
	opts := declcfg.WriteOptions{Format: declcfg.YAML, Edit: catalog.Edit}
	if err := declcfg.WriteDir(p.cmd.Context(), stage, catalog.Metas, opts); err != nil {
		return err
	}
	defer os.RemoveAll(stage)
	entries, err := os.ReadDir(stage)
	for _, e := range entries {
		to := filepath.Join(p.dir, e.Name())
		if _, exists := os.Lstat(to); exists == nil {
			return fmt.Errorf("%s: another template has %s too", file, e.Name())
		}
		err = errors.Join(err, os.Rename(filepath.Join(stage, e.Name()), to))
	}
	if err != nil || p.rendering.lock == "" {
		return err
	}
	return bundles.Lock.WriteFile(p.rendering.lock)
}

func (p *publication) validate(r *pipeline.Result) error {
	f := validateFlags{images: p.build.images}
	opts, err := f.options(p.config)
	if err != nil {
		return err
	}
	problems, err := f.ofCatalog(p.cmd, p.dir, opts)
	if err != nil {
		return err
	}
	p.unreadable = slices.ContainsFunc(problems, func(found *problem.Problem) bool {
		return found.Rule == validate.Unreadable
	})
	return p.show(r, &problem.Report{Subject: "catalog", Problems: problems})
}

func (p *publication) resolve(r *pipeline.Result) error {
	f := resolveFlags{olm: p.olm, timeout: solverTimeout, images: p.build.images}
	named := defaultCatalogName(0) + "=" + p.dir // the directory may have a = in its name
	checked, err := f.checkAll(p.cmd, append([]string{named}, p.others...))
	if err != nil {
		return err
	}
	report, _ := resolveReport(checked)
	if err := p.show(r, report); err != nil {
		return err
	}
	good := slices.Concat(asTheyShouldBe("OLM Classic", checked.Classic), asTheyShouldBe("OLM v1", checked.V1))
	if len(good) > 0 {
		r.Note = "new installations and updates as they should be: " + strings.Join(good, ", ")
	}
	return nil
}

// asTheyShouldBe returns the share of questions that a version of OLM resolves, nil if there are no questions.
func asTheyShouldBe(olm string, t resolve.Tally) []string {
	if t.Questions == 0 {
		return nil
	}
	good := plural.Number(t.Questions - t.HeldBack - t.Unresolved)
	return []string{fmt.Sprintf("%s %s of %s", olm, good, plural.Number(t.Questions))}
}

func (p *publication) checkImages(r *pipeline.Result) error {
	f := imageCheck{jobs: imagecheck.DefaultJobs}
	from, err := p.build.images.open(p.cmd)
	if err != nil {
		return err
	}
	report, err := f.check(p.cmd, p.dir, from)
	if err := errors.Join(err, from.close()); err != nil {
		return err
	}
	note := report.Summary()
	if err := p.show(r, imagesReport(report)); err != nil {
		return err
	}
	r.Note = note
	return nil
}

// compare compares the catalog with the one that is published. If none is, all is new.
func (p *publication) compare(r *pipeline.Result) error {
	p.diff.images = p.build.images
	p.diff.images.platform = p.build.platforms[0]
	changes, err := p.diff.compare(p.cmd, []string{p.before(), p.dir})
	none := p.against == "" && errors.Is(err, image.ErrNotFound)
	if none {
		empty := filepath.Join(p.tmp, "empty")
		if err := os.Mkdir(empty, 0o777); err != nil {
			return err
		}
		changes, err = p.diff.compare(p.cmd, []string{empty, p.dir})
	}
	if err != nil {
		return err
	}
	r.Changes = changes
	switch n := len(changes.Packages); {
	case none:
		r.Note = "nothing is published yet: all is new"
	case n == 0:
		r.Note = "no changes"
	default:
		r.Note = plural.Words(n, "package differs", "packages differ")
	}
	if err := p.diff.fail(changes); err != nil {
		r.Reject(err.Error())
	}
	return nil
}

func (p *publication) buildImage(r *pipeline.Result) error {
	defer progress(p.cmd, "building")()
	if err := p.build.warnOfBase(p.cmd, p.dir, p.options.Platforms); err != nil {
		return err
	}
	built, err := p.build.build(p.cmd, p.dir, p.options)
	if invalid, ok := errors.AsType[*publish.InvalidError](err); ok {
		p.refuse(r, invalid.Report.Problems)
		return nil
	}
	if err != nil {
		return err
	}
	p.closers = append(p.closers, built.Close)
	p.built, r.Image = built, &built.Summary
	r.Note = strings.Join(p.build.platforms, ", ")
	return nil
}

// push stores the image by its digest.
func (p *publication) push(r *pipeline.Result) error {
	defer progress(p.cmd, "pushing")()
	changed, err := p.pusher.Store(p.cmd.Context(), p.built.Artifact)
	if err == nil && !changed {
		r.Note = sameImage
	}
	return err
}

// setTags makes the tags name the image.
func (p *publication) setTags(r *pipeline.Result) error {
	changed, err := p.pusher.Tag(p.cmd.Context())
	r.Live = p.pusher.Live()
	switch {
	case err != nil:
		noteLive(p.cmd, p.pusher)
	case !changed:
		r.Note = sameImage
		p.run.Unchanged()
	}
	return err
}

// sameImage is the note of a step that has nothing to do.
const sameImage = "the same image is there"

// signImage signs the image once in each repository.
func (p *publication) signImage(r *pipeline.Result) error {
	var images []string
	for _, tag := range p.build.tags {
		ref, err := image.ParseReference(tag)
		if err != nil {
			return err
		}
		if name := ref.Context().Digest(p.built.Summary.Digest).Name(); !slices.Contains(images, name) {
			images = append(images, name)
		}
	}
	for _, name := range images {
		line := p.signer.CommandLine(name)
		r.Commands = append(r.Commands, line)
		fmt.Fprintf(p.cmd.ErrOrStderr(), "opm: %s\n", line)
		if err := p.signer.Sign(p.cmd.Context(), name, p.cmd.ErrOrStderr()); err != nil {
			return err
		}
	}
	return nil
}
