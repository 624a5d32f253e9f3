package impact

import (
	"context"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/opm-toolchain/opm/internal/olm/audit"
	"github.com/opm-toolchain/opm/internal/olm/rbac"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// Permissions are the permissions that a new bundle has and the head before does not have, whatever the service
// account. Without a head, they are all permissions.
type Permissions struct {
	New []Permission `json:"new"`

	// Unknown is the reason why New is empty, "" if the permissions of both bundles are known.
	Unknown string `json:"unknown,omitempty"`
}

// A Permission is a rule that the head before does not have, at least in part.
type Permission struct {
	ServiceAccount string            `json:"serviceAccount"`
	Scope          audit.Scope       `json:"scope"`
	Rule           rbacv1.PolicyRule `json:"rule"`

	// Escalates is true if the rule allows the operator to get other permissions, by a wildcard or by one of the verbs
	// bind, escalate and impersonate; or if it is for the whole cluster, and before only for the watched namespaces.
	Escalates bool `json:"escalates"`
}

// permissions adds the new permissions.
func (c *comparison) permissions(ctx context.Context) error {
	operators, err := c.operators(ctx)
	if err != nil {
		return err
	}
	for _, n := range c.news {
		now, before := operators[n.meta], &audit.Operator{}
		if n.head != nil {
			before = operators[n.head]
		}
		n.Permissions.New = []Permission{}
		switch {
		case now.NotEvaluable != "":
			n.Permissions.Unknown = now.NotEvaluable
		case before.NotEvaluable != "":
			n.Permissions.Unknown = n.Head + ": " + before.NotEvaluable
		default:
			if n.Permissions.New, err = newPermissions(before, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// newPermissions returns the rules of an operator that another version of it does not have.
func newPermissions(before, now *audit.Operator) ([]Permission, error) {
	all := []Permission{}
	everywhere := rulesOf(before, audit.Cluster)
	somewhere := slices.Concat(everywhere, rulesOf(before, audit.Namespaces))
	for _, g := range now.Grants {
		known := somewhere
		if g.Scope == audit.Cluster {
			known = everywhere
		}
		for _, r := range g.Rules {
			covered, err := rbac.Covers(known, r)
			if err != nil {
				return nil, err
			}
			if covered {
				continue
			}
			widened, err := rbac.Covers(somewhere, r)
			if err != nil {
				return nil, err
			}
			all = append(all, Permission{g.ServiceAccount, g.Scope, r, widened || isPowerful(r)})
		}
	}
	return all, nil
}

func rulesOf(o *audit.Operator, scope audit.Scope) (rules []rbacv1.PolicyRule) {
	for _, g := range o.Grants {
		if g.Scope == scope {
			rules = append(rules, g.Rules...)
		}
	}
	return rules
}

// isPowerful reports whether a rule has a wildcard, or a verb that gives permissions.
func isPowerful(r rbacv1.PolicyRule) bool {
	powerful := []string{rbacv1.VerbAll, "bind", "escalate", "impersonate"}
	return slices.ContainsFunc(r.Verbs, func(verb string) bool { return slices.Contains(powerful, verb) }) ||
		slices.Contains(r.Resources, rbacv1.ResourceAll)
}

// operators returns the permissions of the new bundles and of the heads before them. It opens the images of bundles
// whose manifests are not in the catalog.
func (c *comparison) operators(ctx context.Context) (map[*declcfg.Meta]*audit.Operator, error) {
	operators := map[*declcfg.Meta]*audit.Operator{}
	wanting := map[string][]*declcfg.Meta{} // by image
	var refs []string
	for _, n := range c.news {
		for _, m := range []*declcfg.Meta{n.meta, n.head} {
			if m == nil || operators[m] != nil {
				continue
			}
			o, ref := audit.OfBundle(m)
			if operators[m] = o; o.NotEvaluable == "" || ref == "" || c.opts.Images == nil {
				continue
			}
			if wanting[ref] == nil {
				refs = append(refs, ref)
			}
			wanting[ref] = append(wanting[ref], m)
		}
	}
	if len(refs) == 0 {
		return operators, nil
	}
	found := func(ref string, o *audit.Operator) {
		for _, m := range wanting[ref] {
			operators[m] = o
		}
	}
	failed := func(ref string, err error) { found(ref, &audit.Operator{NotEvaluable: reason(err)}) }
	catalog, err := c.opts.Images(ctx, refs, failed)
	if err != nil {
		return nil, err
	}
	defer catalog.Close()
	metas, err := declcfg.Metas(ctx, catalog.Sources...)
	if err != nil {
		return nil, err
	}
	for _, m := range metas {
		o, _ := audit.OfBundle(m)
		found(m.Pos.File, o) // each image is its own source
	}
	return operators, nil
}
