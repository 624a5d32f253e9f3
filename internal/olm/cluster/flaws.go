package cluster

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
)

func checkCatalogSource(c *v1alpha1.CatalogSource) flaws {
	wrong := flaws(nil).require("/spec/sourceType", string(c.Spec.SourceType))
	wrong = append(wrong, known("/spec/sourceType", c.Spec.SourceType, "OLM refuses it",
		v1alpha1.SourceTypeGrpc, v1alpha1.SourceTypeConfigmap, v1alpha1.SourceTypeInternal)...)
	if u := c.Spec.UpdateStrategy; u != nil && u.RegistryPoll != nil && u.RawInterval != "" && u.ParsingError != "" {
		wrong = append(wrong, flaw{"/spec/updateStrategy/registryPoll/interval", accepted{fmt.Errorf(
			"want a duration such as \"10m\", found %q: OLM polls every %v", u.RawInterval,
			v1alpha1.DefaultRegistryPollDuration)}})
	}
	if config := c.Spec.GrpcPodConfig; config != nil {
		switch config.SecurityContextConfig {
		case "", v1alpha1.Legacy, v1alpha1.Restricted:
		default:
			wrong = append(wrong, flaw{"/spec/grpcPodConfig/securityContextConfig", fmt.Errorf(
				"unknown value %q, want %q or %q", config.SecurityContextConfig, v1alpha1.Legacy, v1alpha1.Restricted)})
		}
	}
	return wrong
}

func checkSubscription(s *v1alpha1.Subscription) flaws {
	if s.Spec == nil {
		s.Spec = &v1alpha1.SubscriptionSpec{}
	}
	wrong := flaws(nil).
		require("/spec/name", s.Spec.Package).
		require("/spec/source", s.Spec.CatalogSource).
		require("/spec/sourceNamespace", s.Spec.CatalogSourceNamespace)
	wrong = append(wrong, known("/spec/installPlanApproval", s.Spec.InstallPlanApproval, asAutomatic,
		v1alpha1.ApprovalAutomatic, v1alpha1.ApprovalManual)...)
	return append(wrong, known("/status/state", s.Status.State, notSet, v1alpha1.SubscriptionStateFailed,
		v1alpha1.SubscriptionStateUpgradeAvailable, v1alpha1.SubscriptionStateUpgradePending,
		v1alpha1.SubscriptionStateAtLatest)...)
}

// The effects of values that OLM does not know.
const (
	asAutomatic = "OLM takes it as Automatic"
	notSet      = "OLM does not set it"
)

func checkInstallPlan(p *v1alpha1.InstallPlan) flaws {
	return append(
		known("/spec/approval", p.Spec.Approval, asAutomatic, v1alpha1.ApprovalAutomatic, v1alpha1.ApprovalManual),
		known("/status/phase", p.Status.Phase, notSet, v1alpha1.InstallPlanPhasePlanning,
			v1alpha1.InstallPlanPhaseRequiresApproval, v1alpha1.InstallPlanPhaseInstalling,
			v1alpha1.InstallPlanPhaseComplete, v1alpha1.InstallPlanPhaseFailed)...)
}

func checkClusterServiceVersion(c *v1alpha1.ClusterServiceVersion) flaws {
	return known("/status/phase", c.Status.Phase, notSet, v1alpha1.CSVPhasePending, v1alpha1.CSVPhaseInstallReady,
		v1alpha1.CSVPhaseInstalling, v1alpha1.CSVPhaseSucceeded, v1alpha1.CSVPhaseFailed, v1alpha1.CSVPhaseUnknown,
		v1alpha1.CSVPhaseReplacing, v1alpha1.CSVPhaseDeleting)
}

// AnnotationExcludeGlobal hides the global catalogs from the namespace of an OperatorGroup if it is "true".
const AnnotationExcludeGlobal = "olm.operatorframework.io/exclude-global-namespace-resolution"

func checkOperatorGroup(g *operatorsv1.OperatorGroup) flaws {
	ptr := jsontext.Pointer("/metadata/annotations").AppendToken(AnnotationExcludeGlobal)
	wrong := known(ptr, g.Annotations[AnnotationExcludeGlobal], `OLM takes it as "false"`, "true", "false")
	switch g.Spec.UpgradeStrategy {
	case "", operatorsv1.UpgradeStrategyDefault, operatorsv1.UpgradeStrategyUnsafeFailForward:
	default:
		wrong = append(wrong, flaw{"/spec/upgradeStrategy", fmt.Errorf("want %s or %s, found %q",
			operatorsv1.UpgradeStrategyDefault, operatorsv1.UpgradeStrategyUnsafeFailForward, g.Spec.UpgradeStrategy)})
	}
	return wrong
}

func checkOLMConfig(c *operatorsv1.OLMConfig) flaws {
	return known("/metadata/name", c.Name, "OLM ignores it", "cluster")
}

// flaws are the problems of an object that make it unusable, and its values of which OLM makes others.
type flaws []flaw

type flaw struct {
	ptr jsontext.Pointer
	err error
}

// accepted is the error about a value with which the object can be used.
type accepted struct{ error }

func (f flaw) isAccepted() bool { return errors.As(f.err, new(accepted)) }

// require adds a flaw if the value of a required field is empty.
func (f flaws) require(ptr jsontext.Pointer, value string) flaws {
	if value != "" {
		return f
	}
	return append(f, flaw{ptr, errors.New("required")})
}

// known returns a flaw with the effect of a value that is none of the known values. The empty value has a default.
func known[T ~string](ptr jsontext.Pointer, value T, effect string, all ...T) flaws {
	if value == "" || slices.Contains(all, value) {
		return nil
	}
	want := string(all[len(all)-1])
	for i, name := range slices.Backward(all[:len(all)-1]) {
		separator := ", "
		if i == len(all)-2 {
			separator = " or "
		}
		want = string(name) + separator + want
	}
	return flaws{{ptr, accepted{fmt.Errorf("want %s, found %q: %s", want, value, effect)}}}
}
