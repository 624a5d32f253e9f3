package edit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/template"
)

// errSemver is why most edits cannot be made to a semver template.
var errSemver = errors.New("a semver template lists images only: its channels, their updates and the default channel " +
	"follow from the versions")

// addToStage adds an image to a stage of a semver template.
func (p *pkg) addToStage(image, stage string, u Updates) error {
	if u.Replaces != nil || len(u.Skips) > 0 || u.SkipRange != "" {
		return errSemver
	}
	name := strings.ToLower(stage)
	if !slices.Contains(template.Stages(), name) {
		return fmt.Errorf("%w: want one of %q",
			declcfg.NotFound("a semver template has no stage", stage, template.Stages()), template.Stages())
	}
	stage = name
	images := p.parsed.Stage(stage)
	if slices.Contains(images, image) {
		return fmt.Errorf("image %q is already in stage %q", image, stage)
	}
	u0 := p.units[0]
	if len(images) > 0 {
		return u0.append(jsontext.Pointer("/"+stage+"/bundles"), joined([]member{{"image", encoded(image)}}))
	}
	tree, err := u0.tree()
	if err != nil {
		return err
	}
	if tree.child(stage) != nil {
		return fmt.Errorf("stage %q is empty: remove it from the template, and add the bundle again", stage)
	}
	bundles, key := "bundles", "image"
	if last := tree.last().name; last != strings.ToLower(last[:1])+last[1:] { // Go's names are accepted as well
		stage, bundles, key = capital(stage), capital(bundles), capital(key)
	}
	list := listOf(joined([]member{{key, encoded(image)}}))
	return u0.set(jsontext.Pointer("/"+stage), joined([]member{{bundles, list}}))
}

func capital(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// promoteImage adds an image of another stage to a stage of a semver template.
func (p *pkg) promoteImage(name, to string, u Updates) error {
	if all := p.parsed.Images(); !slices.Contains(all, name) {
		return notFound("the template has no", image, name, all)
	}
	return p.addToStage(name, to, u)
}

// removeImage removes an image from one stage of a semver template, or from all.
func (p *pkg) removeImage(name, from string) error {
	found := false
	for _, stage := range template.Stages() {
		images := p.parsed.Stage(stage)
		i := slices.Index(images, name)
		if i < 0 || from != "" && !strings.EqualFold(from, stage) {
			continue
		}
		found = true
		ptr := jsontext.Pointer("/" + stage)
		var err error
		if len(images) > 1 {
			err = p.units[0].removeElements(ptr+"/bundles", i)
		} else {
			err = p.units[0].remove(ptr)
		}
		if err != nil {
			return err
		}
	}
	if !found {
		return notFound("the template has no", image, name, p.parsed.Images())
	}
	return nil
}
