package template

import (
	"cmp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// semverSpec is a semver template: it groups bundles by stability, and generates channels from their versions.
type semverSpec struct {
	Schema     string `json:"schema"`
	Major      bool   `json:"generateMajorChannels"`
	Minor      bool   `json:"generateMinorChannels"`
	Preference string `json:"defaultChannelTypePreference"`
	Candidate  stage  `json:"candidate"`
	Fast       stage  `json:"fast"`
	Stable     stage  `json:"stable"`
}

// A stage lists the bundles of one stability.
type stage struct {
	Bundles []struct {
		Image string `json:"image"`
	} `json:"bundles"`
}

var stageNames = []string{"candidate", "fast", "stable"}

// Stages returns the names of the stages of semver templates, least stable first.
func Stages() []string { return stageNames }

func (s *semverSpec) stages() []stage { return []stage{s.Candidate, s.Fast, s.Stable} }

// Stage returns the bundle images in one of the [Stages]. The template must be a semver template.
func (t *Template) Stage(name string) (images []string) {
	s := t.spec.(*semverSpec) //nolint:forcetypeassert // a semver template
	for _, b := range s.stages()[slices.Index(stageNames, name)].Bundles {
		images = append(images, b.Image)
	}
	return images
}

func (s *semverSpec) check(t *Template) {
	const preference = "/defaultChannelTypePreference"
	if !s.Major && !s.Minor {
		s.Minor = true
	}
	switch p := channelType(s.Preference); {
	case s.Preference == "" && s.Minor:
		s.Preference = string(minorChannel)
	case s.Preference == "":
		s.Preference = string(majorChannel)
	case p != majorChannel && p != minorChannel:
		t.fail(preference, "unknown type of channel %q%s: want %s or %s", p,
			nearest.Hint(string(p), []string{string(majorChannel), string(minorChannel)}), minorChannel, majorChannel)
	case p == majorChannel && !s.Major:
		t.fail(preference, "major channels are preferred and not generated: set generateMajorChannels")
	case p == minorChannel && !s.Minor:
		t.fail(preference, "minor channels are preferred and not generated: set generateMinorChannels")
	}
	images := s.images()
	if len(images) == 0 {
		t.fail("", "the template names no bundles: list them below candidate, fast or stable")
	}
	for _, r := range images {
		if r.image == "" {
			t.fail(r.ptr, "the bundle has no image")
		}
	}
}

func (*semverSpec) pkg() string { return "" }

func (s *semverSpec) images() (all []reference) {
	for i, stage := range s.stages() {
		for j, b := range stage.Bundles {
			ptr := jsontext.Pointer("/" + stageNames[i] + "/bundles")
			all = append(all, reference{b.Image, place.Item(ptr, j).AppendToken("image")})
		}
	}
	return all
}

func (s *semverSpec) render(r *rendering) {
	g := generator{major: s.Major, minor: s.Minor, preferred: channelType(s.Preference), strict: r.StrictChannels}
	images := s.images()
	for i, stage := range s.stages() {
		n := len(stage.Bundles)
		g.add(stageNames[i], r.stage(&g, images[:n]))
		images = images[n:]
	}
	if len(r.errs) > 0 || len(r.used) == 0 {
		return
	}
	channels, defaultChannel := g.channels()
	r.warnOfLooseChannels(&g, channels, defaultChannel)
	r.add(r.packageOf(g.pkg, channels, defaultChannel))
	for _, c := range channels {
		r.add(c)
	}
}

// stage returns the bundles of one stage. They must belong to one package and have different names and versions.
func (r *rendering) stage(g *generator, images []reference) []*bundle {
	var all []*bundle
	names, versions := map[string]reference{}, map[string]reference{}
	for _, ref := range images {
		b := r.bundles.byImage[ref.image]
		if !r.includes(b.meta.Package, b.Name, ref.image) {
			continue
		}
		if b.versionError != nil {
			r.fail(ref.ptr, "bundle %q: %w", b.Name, b.versionError)
			continue
		}
		version := *b.Version
		version.Semver.Build, version.Release = nil, nil // upstream ignores them, too
		g.pkg = cmp.Or(g.pkg, b.property.PackageName)
		before, again := versions[version.String()]
		switch {
		case b.property.PackageName != g.pkg:
			r.fail(ref.ptr, "bundle %q is of package %q, others are of package %q", b.Name, b.property.PackageName, g.pkg)
		case names[b.Name].image == ref.image:
			r.fail(ref.ptr, "image %q is listed twice, first at %s", ref.image, r.file.Pos(names[b.Name].ptr)[0])
		case names[b.Name].image != "":
			r.fail(ref.ptr, "image %q has the ClusterServiceVersion %q, as image %q at %s: a channel has only one of this name",
				ref.image, b.Name, names[b.Name].image, r.file.Pos(names[b.Name].ptr)[0])
		case again:
			r.fail(ref.ptr, "bundle %q has version %s, as the bundle at %s (releases and build metadata do not count)",
				b.Name, version, r.file.Pos(before.ptr)[0])
		default:
			all = append(all, b)
			if !slices.Contains(r.used, b.meta) { // another stage may have it, too
				r.used = append(r.used, b.meta)
			}
		}
		names[b.Name], versions[version.String()] = ref, ref
	}
	return all
}

// packageOf returns the package, with the description and icon of the last bundle in the default channel.
func (r *rendering) packageOf(name string, channels []*declcfg.Channel, defaultChannel string) *declcfg.Package {
	p := &declcfg.Package{Schema: declcfg.SchemaPackage, Name: name, DefaultChannel: defaultChannel}
	i := slices.IndexFunc(channels, func(c *declcfg.Channel) bool { return c.Name == defaultChannel })
	if i < 0 {
		return p
	}
	entries := channels[i].Entries
	last := entries[len(entries)-1].Name
	for _, m := range r.used {
		if m.Name != last {
			continue
		}
		b, err := r.bundles.decode(m.Pos.File)
		if err != nil {
			r.fail("", "%w", err)
			break
		}
		p.Description, p.Icon = b.CSVMetadata().Description, b.ManifestIcon()
	}
	return p
}
