package resolve

import (
	"time"

	"github.com/blang/semver/v4"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A Namespace is a question to OLM Classic: what do the Subscriptions of a namespace install or update, with these
// catalogs and operators?
type Namespace struct {
	Name string

	// Global is the namespace of the global catalogs. It is empty where the OperatorGroup excludes them.
	Global string

	// Catalogs are the CatalogSources. Those in namespaces other than Name and Global are not visible.
	Catalogs []*Catalog

	Installed     []Installed
	Subscriptions []Subscription

	// FailForward is set where the OperatorGroup has the upgrade strategy TechPreviewUnsafeFailForward.
	FailForward bool
}

// A Subscription asks for a package of a catalog.
type Subscription struct {
	Name             string
	Package          string
	Channel          string // "" for any
	Catalog          string
	CatalogNamespace string
	StartingCSV      string

	InstalledCSV string // of its status, as is CurrentCSV
	CurrentCSV   string

	Pos declcfg.Pos
}

// anyCatalog reports whether the Subscription names no catalog, which OLM takes for all.
func (s *Subscription) anyCatalog() bool { return s.Catalog == "" && s.CatalogNamespace == "" }

// Installed is an operator of the namespace: a ClusterServiceVersion that is not a copy.
type Installed struct {
	Name    string
	Version semver.Version // 0.0.0 if it has none

	// Properties are those of the annotation operatorframework.io/properties, not nil if it is there. Without it, OLM
	// infers them from the APIs and from the Subscriptions.
	Properties []Property

	// PropertiesError is why the annotation cannot be read.
	PropertiesError error

	CustomResources declcfg.CRDDescriptions
	APIServices     declcfg.APIServiceDefinitions

	Phase    string
	Replaces string
	Pos      declcfg.Pos
}

// Options are how long to try.
type Options struct {
	Timeout time.Duration // after which the outcome is Undecided; 0 means 10 seconds
}

// An Outcome is how OLM answers.
type Outcome string

// The outcomes, as JSON has them.
const (
	Resolved      Outcome = "resolved"
	Unsatisfiable Outcome = "unsatisfiable" // reason ConstraintsNotSatisfiable: OLM waits until an input changes
	Failed        Outcome = "error"         // reason ErrorPreventedResolution: OLM tries again and again
	Undecided     Outcome = "undecided"     // it takes too long, or the CEL of a bundle costs too much
)

// Classic is the answer of OLM Classic.
type Classic struct {
	Outcome Outcome `json:"outcome"`

	// Install lists what is installed, as new operators or as updates, sorted by package.
	Install []Choice `json:"install"`

	// Unchanged lists bundles that are chosen although they are installed already: their skipRange includes their own
	// version. Nothing happens.
	Unchanged []Choice `json:"unchanged,omitempty"`

	// Generated are the Subscriptions that OLM creates for dependencies; Updated are those of the Namespace whose
	// currentCSV changes, as they are afterwards. If nothing is in Updated, OLM makes no InstallPlan.
	Generated []Subscription `json:"-"`
	Updated   []Subscription `json:"-"`

	// Message is OLM's sentence where the outcome is not Resolved.
	Message string `json:"message"`

	// Core lists the facts that together are unsatisfiable; without any of them the rest is not. Sorted by Message.
	Core []Fact `json:"core,omitempty"`

	// OrderSensitive is set where OLM may give another answer: it depends on the random order of the Subscriptions
	// and operators.
	OrderSensitive bool `json:"orderSensitive,omitzero"`
}

// A Choice is a bundle that is chosen, and where it comes from.
type Choice struct {
	Catalog          string `json:"catalog"`
	CatalogNamespace string `json:"catalogNamespace,omitempty"`
	Package          string `json:"package"`
	Channel          string `json:"channel"`
	Bundle           string `json:"bundle"`
	Replaces         string `json:"replaces"` // the ClusterServiceVersion that it replaces, installed or not

	Meta *declcfg.Meta `json:"-"` // of the bundle
}

// A Fact is one of the constraints that OLM solves.
type Fact struct {
	Kind       FactKind `json:"kind"`
	Subject    string   `json:"subject"`              // what it is about; see FactKind
	Candidates []string `json:"candidates,omitempty"` // by identifier, CATALOG/NAMESPACE/CHANNEL/BUNDLE
	Message    string   `json:"message"`              // OLM's sentence

	// Places are where it says so: one place or, for a FactOneProvider and FactOneBundle, one for each candidate.
	Places []declcfg.Pos `json:"places,omitempty"`

	requires string // of a FactRequirement, what is required
}

// A FactKind says what a Fact is about.
type FactKind string

// The kinds of facts.
const (
	FactSubscription FactKind = "subscription" // the Subscription exists
	FactInstalled    FactKind = "installed"    // the operator is installed, and has no Subscription
	FactCandidates   FactKind = "candidates"   // the Subscription requires one of the candidates, the first if possible
	FactRequirement  FactKind = "requirement"  // the bundle requires one of the candidates
	FactDeprecated   FactKind = "deprecated"   // the bundle has the property olm.deprecated
	FactUpdate       FactKind = "update"       // the bundle cannot be installed along with the operator that it updates
	FactOneProvider  FactKind = "one-provider" // one candidate at most, as all provide the API
	FactBroken       FactKind = "broken"       // what prevents OLM from resolving at all
	FactOneBundle    FactKind = "one-bundle"   // one candidate at most, as all are of the package
)
