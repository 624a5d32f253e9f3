package validate

import (
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/internal/skim"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/schemas"
)

// An objectResult is an object and the results of the checks that need no other object.
type objectResult struct {
	value    any                // goes into the index; nil for a custom schema, or if decoding failed
	problems []*problem.Problem // in the file of the object
	rules    []celRule
	needs    *needs // of a bundle, with a target
	noCSV    bool   // the object is a bundle without metadata of its ClusterServiceVersion
	wrong    bool   // the object breaks a rule of severity error, even if that rule is disabled
}

// of returns the problems for an object that may be in another file. No message about a single object names its file.
func (r *objectResult) of(m *declcfg.Meta) []*problem.Problem {
	problems := slices.Clone(r.problems)
	for i, p := range problems {
		if p.Pos.File != m.Pos.File {
			twin := *p
			twin.Pos.File = m.Pos.File
			problems[i] = &twin
		}
	}
	return problems
}

// Object checks one object on its own; value and err are the results of its Decode method. The result must be passed to
// Add. Several goroutines may call Object at the same time. Problems get their positions here, while the text of the
// object is in memory.
func (c *Checker) Object(o *declcfg.Object, value any, err error) any {
	room := maxProblems
	s := &scope{v: c.v, meta: o.Meta, placer: o, room: &room, checker: c.v.checkers.Get()}
	defer c.v.checkers.Put(s.checker)
	result := &objectResult{problems: c.v.flaws(o.Meta)}
	findings := s.checker.Object(o)
	s.checker.UnknownKeys(o, s.unknownKey)
	if err == nil {
		switch value := value.(type) {
		case *declcfg.Package:
			s.pkg(value)
		case *declcfg.Channel:
			s.channel(value)
		case *declcfg.Bundle:
			s.bundle(value)
		case *declcfg.Deprecations:
			s.deprecations(value)
		default:
			s.other()
		}
		if b, ok := value.(*declcfg.Bundle); ok {
			result.noCSV = hasNoCSV(b)
			if c.v.opts.Target != (platform.Platform{}) {
				result.needs = needsOf(b)
			}
		}
		result.value = declcfg.Slim(value)
	} else {
		for ptr, err := range typeErrors(o.JSON(), decode) {
			e := &declcfg.Error{Pos: o.Place(ptr), Pointer: ptr, Err: err}
			result.problems = append(result.problems, c.v.located(ruleType, o.Meta, e)...)
		}
	}
	result.wrong = err != nil || s.broken
	for _, f := range findings {
		// If decoding failed, its errors cover the findings about the format.
		if rule := s.shapeRule(f); rule == ruleUserSchema || rule != nil && err == nil {
			s.add(rule, f.Pointer, "%s (%s)", f.Message, f.Definition)
		}
	}
	result.problems = append(result.problems, s.problems()...)
	result.rules = s.rules
	return result
}

// flaws reports duplicate keys and invalid UTF-8 in m, which are read in a way that the author may not expect.
func (v *validator) flaws(m *declcfg.Meta) []*problem.Problem {
	if v.isOff(ruleDuplicateKey) && v.isOff(ruleUTF8) {
		return nil
	}
	var problems []*problem.Problem
	for i, f := range m.Flaws() {
		if i == maxProblems {
			break
		}
		rule, msg := ruleUTF8, "invalid UTF-8 is read as U+FFFD"
		if f.Key != "" {
			rule, msg = ruleDuplicateKey, "duplicate key "+strconv.Quote(legible.Value(f.Key))+": the last value is used"
		}
		if !v.isOff(rule) {
			problems = append(problems, v.problem(rule, f.Pos, m, "", msg))
		}
	}
	return problems
}

// maxTypo is the maximum edit distance between a typo and the intended name.
const maxTypo = 2

// unknownKey reports a key that the format does not define. Upstream ignores such a key, unless it differs from a
// defined key only in case: then it reads it as the defined key, while other readers ignore it.
func (s *scope) unknownKey(key jsontext.Pointer, defined []string) {
	name := key.LastToken()
	fold := func(d string) bool { return strings.EqualFold(d, name) }
	if i := slices.IndexFunc(defined, fold); i >= 0 {
		s.add(ruleMisspelledKey, key, "key %q is read as %q by opm, and ignored by others", name, defined[i])
	} else if near := nearest.Within(maxTypo, name, defined); near != "" {
		s.add(ruleMisspelledKey, key, "unknown key %q, which is ignored (did you mean %q?)", name, near)
	} else {
		s.add(ruleUnknownKey, key, "unknown key %q, which is ignored", name)
	}
}

// located turns an error of package declcfg into a problem of the rule. m is nil if the object is not known.
func (v *validator) located(rule *problem.Rule, m *declcfg.Meta, err error) []*problem.Problem {
	if v.isOff(rule) {
		return nil
	}
	e, ok := errors.AsType[*declcfg.Error](err)
	if !ok {
		e = &declcfg.Error{Err: err}
	}
	return []*problem.Problem{v.problem(rule, e.Pos, m, e.Pointer, e.Err.Error())}
}

// Unreadable is the name of the rule about files and documents that cannot be read.
const Unreadable = "read"

var reserved = []string{
	declcfg.SchemaPackage, declcfg.SchemaChannel, declcfg.SchemaBundle, declcfg.SchemaDeprecations,
}

func (s *scope) other() {
	switch schema := s.meta.Schema; {
	case schema == declcfg.SchemaShard:
		s.add(ruleUnmergedShard, "/schema", "the object ends a shard that is not merged")
	case strings.HasPrefix(schema, "olm."):
		near := nearest.Hint(schema, reserved)
		if f := s.add(ruleUnknownSchema, "/schema", "unknown schema %q%s", schema, near); f != nil {
			f.root = near != ""
		}
	}
	const why = "which upstream refuses to serve: want letters, digits, dots, hyphens and underscores"
	if !isServed(s.meta.Schema) {
		s.add(rulePortable, "/schema", "custom schema %q, "+why, s.meta.Schema)
	}
	if pkg := s.meta.Package; pkg != "" && !isServed(pkg) {
		s.add(rulePortable, "/package", "object of a custom schema in package %q, "+why, pkg)
	}
}

var objectRules = &problem.Group{Title: "Any object", Rules: []*problem.Rule{
	ruleRead, ruleType, rulePortable, ruleDuplicateKey, ruleMisspelledKey, ruleUnknownKey, ruleUTF8, ruleWhiteSpace,
	ruleUnknownSchema, ruleSchema, ruleUserSchema, ruleNoObjects, ruleUnmergedShard,
}}

var (
	ruleRead = &problem.Rule{Name: Unreadable, Severity: problem.Error,
		Summary: "every file of a catalog can be read, and every document in it is an object with a schema",
		Reason:  "Upstream stops at the first document that it cannot read, and serves nothing."}
	ruleType = &problem.Rule{Name: "type", Severity: problem.Error,
		Summary: "the keys of the format hold values of their type",
		Reason:  "Upstream rejects an object of a known schema if one of its values has the wrong type."}
	rulePortable = &problem.Rule{Name: "portable", Severity: problem.Warning,
		Summary: "upstream's opm reads and serves the catalog as well",
		Reason: "It refuses what opm accepts: a document without an object (blank lines or a comment before the first ---, " +
			"at the end of a file or between two ---), links to directories, the objects of a file that two paths lead to, " +
			"and custom schemas, and the packages of their objects, whose names it does not serve."}
	ruleDuplicateKey = &problem.Rule{Name: "duplicate-key", Severity: problem.Warning,
		Summary: "keys of an object are unique",
		Reason:  "Upstream silently uses the last value of a duplicate key; the other values are lost.",
		Fix:     "remove one of them"}
	ruleMisspelledKey = &problem.Rule{Name: "misspelled-key", Severity: problem.Warning,
		Summary: "keys of the format are spelled as the format defines them",
		Reason: "The value of a misspelled key is ignored: upgrade edges, icons or images are missing. Keys in another " +
			"case are read by upstream's opm, but not by programs that compare exactly.",
		Fix: "correct the key"}
	ruleUnknownKey = &problem.Rule{Name: "unknown-key", Severity: problem.Info,
		Summary: "objects of the format have keys that the format defines",
		Reason: "Registries ignore other keys. Keys of one's own belong into a property, or into an object of a schema of " +
			"one's own."}
	ruleUTF8 = &problem.Rule{Name: "utf-8", Severity: problem.Warning,
		Summary: "JSON files are UTF-8",
		Reason:  "Upstream silently replaces invalid bytes, so the text is not what its author wrote.",
		Fix:     "save the file as UTF-8"}
	ruleUnknownSchema = &problem.Rule{Name: "unknown-schema", Severity: problem.Warning,
		Summary: "schemas that begin with olm. are defined by the format",
		Reason:  "The prefix is reserved, and registries ignore objects of an unknown schema. It is often a typo.",
		Fix:     "use a schema of the format, or one with a prefix of your own"}
	ruleSchema = &problem.Rule{Name: "schema", Severity: problem.Warning,
		Summary: "objects match the definitions of the specification",
		Reason: "Upstream does not check it, but other readers of the catalog may rely on it. opm schema prints the " +
			"definitions."}
	ruleUserSchema = &problem.Rule{Name: "user-schema", Severity: problem.Error,
		Summary: "objects match the definitions in the files given with --schema",
		Reason:  "These files hold the rules of the catalog's maintainers."}
	ruleNoObjects = &problem.Rule{Name: NoObjects, Severity: problem.Warning,
		Summary: "a catalog has objects",
		Reason:  "A registry without objects serves nothing. Often the path is wrong, or an .indexignore ignores too much."}
	ruleUnmergedShard = &problem.Rule{Name: "unmerged-shard", Severity: problem.Error,
		Summary: "the shards of opm render --shard are merged",
		Reason: "Only merging finds out whether one is missing. An object of schema opm.shard ends each, and is not part " +
			"of a catalog.",
		Fix: "merge all shards: opm render shard-*"}
)

// shapeRule returns the rule for a CUE finding, or nil if a check in Go reports it. Most of these checks are errors,
// which Options with ErrorsOnly report without CUE.
func (s *scope) shapeRule(f schemas.Finding) *problem.Rule {
	path := slices.Collect(f.Pointer.Tokens())
	isProperty := len(path) > 2 && path[0] == "properties"
	switch {
	case f.Extra:
		return ruleUserSchema
	case isProperty && s.meta.Schema != declcfg.SchemaBundle: // Go checks no others
		return ruleSchema
	case isProperty && (f.Kind == schemas.Missing && len(path) == 3 || f.Kind == schemas.WrongType && s.refused[path[1]]):
		return nil // reported by rule property-value
	case f.Rule == ruleConstraint.Name:
		return constraintRule(f)
	case f.Rule == ruleMaxOpenShiftVersion.Name:
		return ruleMaxOpenShiftVersion
	case f.Rule != "" && (f.Kind != schemas.Excess || !f.Empty): // Go treats an empty value like a missing key
		return nil
	}
	return ruleSchema
}

// constraintRule returns the rule constraint if OLM cannot read the value, and schema otherwise.
func constraintRule(f schemas.Finding) *problem.Rule {
	key := f.Pointer.LastToken()
	switch {
	case f.Kind == schemas.Unknown, f.Kind == schemas.WrongType, f.Kind == schemas.Null,
		f.Kind == schemas.Excess && key == "none",
		f.Kind == schemas.Invalid && !f.Empty, key == "versionRange", key == "rule":
		return ruleConstraint
	}
	return ruleSchema
}

// maxTypeErrors is the maximum number of type errors reported per object: each one requires decoding the object again.
const maxTypeErrors = 20

// decode decodes an object, and returns the first error and the pointer to its value.
func decode(raw jsontext.Value) (jsontext.Pointer, error) {
	o, err := declcfg.NewObject(declcfg.Pos{}, raw)
	if err == nil {
		_, err = o.Decode()
	}
	if e, ok := errors.AsType[*declcfg.Error](err); ok {
		return e.Pointer, e.Err
	}
	return "", err
}

// typeErrors yields every value in raw that cannot be decoded, up to maxTypeErrors. Decoding stops at the first such
// value, so the value is replaced by null, which matches any type, and raw is decoded again until there is no error.
func typeErrors(
	raw jsontext.Value, decode func(jsontext.Value) (jsontext.Pointer, error),
) iter.Seq2[jsontext.Pointer, error] {
	return func(yield func(jsontext.Pointer, error) bool) {
		for range maxTypeErrors {
			ptr, err := decode(raw)
			if err == nil || !yield(ptr, err) || ptr == "" {
				return
			}
			var ok bool
			if raw, ok = nulled(raw, ptr); !ok {
				return
			}
		}
	}
}

// nulled returns raw with the value at ptr replaced by null. It returns false if raw has no such value.
func nulled(raw jsontext.Value, ptr jsontext.Pointer) (jsontext.Value, bool) {
	c := skim.New(raw)
	for token := range ptr.Tokens() {
		if !enter(&c, token) {
			return nil, false
		}
	}
	start := c.Offset()
	c.Skip()
	return slices.Concat(raw[:start], []byte("null"), raw[c.Offset():]), true
}

// enter advances c to the value of the object member or array element that token names. It returns false if there is
// none.
func enter(c *skim.Cursor, token string) bool {
	kind := c.Kind()
	if kind != '{' && kind != '[' {
		return false
	}
	i := 0
	for c.Enter(); c.More(); i++ {
		name := strconv.Itoa(i)
		if kind == '{' {
			name = string(skim.Unquote(c.Value()))
			c.Kind()
		}
		if name == token {
			return true
		}
		c.Skip()
	}
	return false
}
