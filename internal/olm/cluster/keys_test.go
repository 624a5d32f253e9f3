package cluster_test

import (
	"slices"
	"testing"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
)

// TestWarnings checks the warnings about unknown keys, and about values that OLM takes as others. The objects are read.
func TestWarnings(t *testing.T) {
	const (
		subscription = "kind: Subscription\napiVersion: operators.coreos.com/v1alpha1\nmetadata: {name: s, namespace: ns}\n" +
			"spec: {name: p, source: c, sourceNamespace: ns"
		source = "kind: CatalogSource\napiVersion: operators.coreos.com/v1alpha1\nmetadata: {name: c, namespace: ns}\n" +
			"spec: {image: q.io/c"
		group     = "kind: OperatorGroup\napiVersion: operators.coreos.com/v1\nmetadata: {name: g, namespace: ns"
		extension = "kind: ClusterExtension\napiVersion: olm.operatorframework.io/v1\nmetadata: {name: e}\n" +
			"spec: {namespace: ns, source: {sourceType: Catalog, catalog: {packageName: p"
	)
	for _, tt := range []struct{ name, text, want string }{
		{
			"a key of a spec", subscription + ", chanel: stable}\n",
			`-:4:49: spec: Subscription "ns/s": unknown key "chanel" is ignored (did you mean "channel"?)`,
		},
		{
			"a key that is similar to none", subscription + ", foreign: 1}\n",
			`-:4:49: spec: Subscription "ns/s": unknown key "foreign" is ignored`,
		},
		{
			"a key of an object", subscription + "}\nspecs: {}\n",
			`-:5:1: Subscription "ns/s": unknown key "specs" is ignored (did you mean "spec"?)`,
		},
		{
			"the case of a key", subscription + ", StartingCSV: a}\n",
			`-:4:49: spec: Subscription "ns/s": unknown key "StartingCSV" is ignored (did you mean "startingCSV"?)`,
		},
		{
			"a key of a type with its own decoder",
			source + ", sourceType: grpc, updateStrategy: {registryPoll: {intervall: 10m}}}\n",
			`-:4:73: spec.updateStrategy.registryPoll: CatalogSource "ns/c": unknown key "intervall" is ignored (did you mean "interval"?)`,
		},
		{
			"keys of metadata", "kind: OperatorGroup\napiVersion: operators.coreos.com/v1\n" +
				"metadata: {name: g, namespace: ns, annotation: {a: b}, clusterName: c}\n",
			`-:3:36: metadata: OperatorGroup "ns/g": unknown key "annotation" is ignored (did you mean "annotations"?)`,
		},
		{
			"keys of a status", subscription + "}\nstatus: {installedCsv: a, foreign: {}}\n",
			`-:5:10: status: Subscription "ns/s": unknown key "installedCsv" is ignored (did you mean "installedCSV"?)`,
		},
		{
			"a ClusterExtension", extension + ", channel: a}}}\n",
			`-:4:79: spec.source.catalog: ClusterExtension "e": unknown key "channel" is ignored (did you mean "channels"?)`,
		},
		{
			"all keys of a ClusterExtension", extension + ", version: 1.x, channels: [a], selector: {matchLabels: {a: b}}, " +
				"upgradeConstraintPolicy: SelfCertified}}, serviceAccount: {name: a}, progressDeadlineMinutes: 10, " +
				"install: {preflight: {crdUpgradeSafety: {enforcement: None}}}, config: {configType: Inline, inline: {a: b}}}\n", "",
		},
		{
			"a ClusterCatalog", "kind: ClusterCatalog\napiVersion: olm.operatorframework.io/v1\nmetadata: {name: c}\n" +
				"spec: {priority: 1, availabilityMode: Available, source: {type: Image, image: {ref: q.io/c, pollInterval: 5, pollIntervalMinutes: 5}}}\n",
			`-:4:93: spec.source.image: ClusterCatalog "c": unknown key "pollInterval" is ignored (did you mean "pollIntervalMinutes"?)`,
		},
		{
			"a kind", "kind: Subcription\napiVersion: operators.coreos.com/v1alpha1\nmetadata: {name: s, namespace: ns}\n",
			`-:1:1: unknown kind "Subcription.operators.coreos.com" (did you mean "Subscription.operators.coreos.com"?)`,
		},
		{
			"installPlanApproval", subscription + ", installPlanApproval: manual}\n",
			`-:4:70: spec.installPlanApproval: Subscription "ns/s": want Automatic or Manual, found "manual": OLM takes it as Automatic`,
		},
		{
			"the approval of an InstallPlan",
			"kind: InstallPlan\napiVersion: operators.coreos.com/v1alpha1\nmetadata: {name: i, namespace: ns}\nspec: {approval: auto}\n",
			`-:4:18: spec.approval: InstallPlan "ns/i": want Automatic or Manual, found "auto": OLM takes it as Automatic`,
		},
		{
			"a phase", "kind: ClusterServiceVersion\napiVersion: operators.coreos.com/v1alpha1\n" +
				"metadata: {name: a.v1, namespace: ns}\nstatus: {phase: succeeded}\n",
			`-:4:17: status.phase: ClusterServiceVersion "ns/a.v1": want Pending, InstallReady, Installing, Succeeded, Failed, Unknown, ` +
				`Replacing or Deleting, found "succeeded": OLM does not set it`,
		},
		{
			"sourceType", source + ", sourceType: GRPC}\n",
			`-:4:35: spec.sourceType: CatalogSource "ns/c": want grpc, configmap or internal, found "GRPC": OLM refuses it`,
		},
		{
			"an interval", source + ", sourceType: grpc, updateStrategy: {registryPoll: {interval: 10 minutes}}}\n",
			`-:4:83: spec.updateStrategy.registryPoll.interval: CatalogSource "ns/c": ` +
				`want a duration such as "10m", found "10 minutes": OLM polls every 15m0s`,
		},
		{
			"exclude-global-namespace-resolution",
			group + ", annotations: {olm.operatorframework.io/exclude-global-namespace-resolution: \"True\"}}\n",
			`-:3:112: metadata.annotations.olm.operatorframework.io/exclude-global-namespace-resolution: OperatorGroup "ns/g": ` +
				`want true or false, found "True": OLM takes it as "false"`,
		},
		{
			"the name of an OLMConfig", "kind: OLMConfig\napiVersion: operators.coreos.com/v1\nmetadata: {name: olm}\n",
			`-:3:18: metadata.name: OLMConfig "olm": want cluster, found "olm": OLM ignores it`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var warnings []error
			warn := func(e *declcfg.Error) { warnings = append(warnings, e) }
			s, err := cluster.Load(t.Context(), warn, render.Text("-", []byte(tt.text)))
			if err != nil {
				t.Fatal(err)
			}
			if len(slices.Collect(s.All())) != 1 {
				t.Errorf("the object was not read: %s", listing(s))
			}
			got := ""
			if err := place.JoinErrors(warnings); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}
