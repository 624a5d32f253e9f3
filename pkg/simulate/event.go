package simulate

import (
	"fmt"

	"github.com/opm-toolchain/opm/pkg/cluster"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// An Event is a change of an object.
type Event struct {
	Step   int         `json:"step"` // from 1
	Action Action      `json:"action"`
	Object Ref         `json:"object"`
	Place  declcfg.Pos `json:"place,omitzero"` // of the object, if it was read

	Text    string  `json:"text"` // what is new, such as "phase Pending, reason RequirementsNotMet"
	Why     string  `json:"why"`  // the rule that OLM follows
	Verdict Verdict `json:"verdict"`
}

// An Action is what happens to an object.
type Action string

// The actions.
const (
	Created Action = "created"
	Updated Action = "updated"
	Deleted Action = "deleted"
)

// A Verdict says how certain something is.
type Verdict string

// The verdicts.
const (
	Computed     Verdict = "computed"
	Assumed      Verdict = "assumed"               // it depends on what no object says, such as whether pods become ready
	NotEvaluable Verdict = "not evaluable offline" // it is not decided, since something is missing
)

// A Wait is what an object waits for when nothing changes any more.
type Wait struct {
	Object  Ref         `json:"object"`
	Place   declcfg.Pos `json:"place,omitzero"`
	For     string      `json:"for"`
	Verdict Verdict     `json:"verdict"`
}

// A Ref names an object.
type Ref struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String returns the kind and the name: Subscription olm/etcd.
func (r Ref) String() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return fmt.Sprintf("%s %s/%s", r.Kind, r.Namespace, r.Name)
}

// refTo returns the Ref of an object whose type is set.
func refTo(o cluster.Kubernetes) Ref {
	return Ref{o.GetObjectKind().GroupVersionKind().Kind, o.GetNamespace(), o.GetName()}
}
