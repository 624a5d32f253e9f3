package simulate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// These are the rules of tools/olm-plays/compare.py beside the data: values that are random or depend on time in a
// cluster are not compared.

// droppedFields are identities, times and versions.
var droppedFields = strings.Fields(`uid resourceVersion creationTimestamp managedFields selfLink lastUpdateTime
	lastTransitionTime lastUpdated lastHeartbeatTime lastConnect startTime completedTime lastAttempted certsLastUpdated
	certsRotateAt createdAt lastTransistionTime deletionGracePeriodSeconds
	kubectl.kubernetes.io/last-applied-configuration`)

// ignoredFields match "KIND PATH" of random fields.
var ignoredFields = regexp.MustCompile(`uuid$|^InstallPlan \.status\.plan\[\d+\]\.status|` +
	`^Secret \.(data|metadata\.annotations)|requirementStatus\[\d+\]\.dependents`)

// defaultedFields match "KIND PATH" of fields that the API server or other controllers fill in, and that may be missing
// in a simulation.
var defaultedFields = regexp.MustCompile(strings.Join([]string{
	`^APIService \.(spec\.caBundle|status)$`,
	`^CustomResourceDefinition \.status\.conditions\[\d+\]\.(message|reason)$`,
	`^CustomResourceDefinition \.spec\.conversion\.webhook\.clientConfig\.caBundle$`,
	`^Deployment \.(status|spec\.progressDeadlineSeconds|spec\.strategy|metadata\.annotations\.deprecated.*)$`,
	`^Deployment \.spec\.template\.metadata\.annotations\.olmcahash$`,
	ofPods + `(dnsPolicy|restartPolicy|schedulerName|serviceAccount|terminationGracePeriodSeconds)$`,
	ofPods + `volumes\[\d+\]\.(configMap|secret)\.defaultMode$`,
	ofContainers + `(imagePullPolicy|terminationMessagePath|terminationMessagePolicy)$`,
	ofContainers + `env\[\d+\]\.valueFrom\.fieldRef\.apiVersion$`,
	ofContainers + `ports\[\d+\]\.protocol$`,
	ofContainers + `(liveness|readiness|startup)Probe\.` +
		`(failureThreshold|successThreshold|timeoutSeconds|periodSeconds|httpGet\.scheme)$`,
	`^(Mutating|Validating)WebhookConfiguration \.webhooks\[\d+\]\.` +
		`(clientConfig\.caBundle|matchPolicy|reinvocationPolicy|timeoutSeconds|rules\[\d+\]\.scope)$`,
	`^PodDisruptionBudget \.status$`, `^PriorityClass \.preemptionPolicy$`, `^Secret \.type$`, `^Job `,
	`^(Cluster)?RoleBinding \.subjects\[\d+\]\.apiGroup$`, `^Namespace \.(spec|status)`,
	`^NetworkPolicy \.spec\.policyTypes$`,
	`^Service \.spec\.(clusterIPs?|internalTrafficPolicy|ipFamilies|ipFamilyPolicy|sessionAffinity|type|` +
		`ports\[\d+\]\.(protocol|targetPort))$`,
}, "|"))

const (
	ofPods       = `^Deployment \.spec\.template\.spec\.`
	ofContainers = ofPods + `(c|initC)ontainers\[\d+\]\.`
)

// passingReasons are the reasons of phases that an operator may or may not pass through.
var passingReasons = strings.Fields("InstallWaiting RequirementsNotMet NeedsReinstall InstallSucceeded " +
	"AllRequirementsMet RequirementsUnknown")

// unorderedLists are in random order in OLM.
var unorderedLists = []string{
	"OperatorGroup .status.namespaces", "InstallPlan .spec.clusterServiceVersionNames",
	"InstallPlan .status.bundleLookups", "InstallPlan .status.catalogSources", "Subscription .status.catalogHealth",
}

var (
	afterUnavailable = regexp.MustCompile(`(code = Unavailable)[^"]*`)
	unpackingName    = regexp.MustCompile(`^[0-9a-f]{40,63}[a-z0-9]{0,5}$`) // of ConfigMaps, Jobs and roles
)

// text returns a string in a JSON object, by its path of names.
func text(o any, names ...string) string {
	for _, name := range names {
		m, _ := o.(map[string]any)
		o = m[name]
	}
	s, _ := o.(string)
	return s
}

// field returns a nested JSON object, nil if it does not exist.
func field(o map[string]any, name string) map[string]any {
	m, _ := o[name].(map[string]any)
	return m
}

// normalized returns the normalized objects by a key that begins with the group and kind.
func normalized(all []map[string]any) map[[4]string]map[string]any {
	names, objects := planNames(all), map[[4]string]map[string]any{}
	installed := map[string]bool{}
	for _, o := range all {
		if text(o, "kind") == "ClusterServiceVersion" {
			installed[text(o, "metadata", "namespace")+"/"+text(o, "metadata", "name")] = true
		}
	}
	for _, o := range all {
		o = normalize(renamed(o, names))
		forgetGone(field(o, "metadata"), installed)
		group, _, isGroup := strings.Cut(text(o, "apiVersion"), "/")
		if !isGroup {
			group = ""
		}
		key := [4]string{group, text(o, "kind"), text(o, "metadata", "namespace"), text(o, "metadata", "name")}
		for objects[key] != nil {
			key[3] += "+" // webhook configurations of one generateName
		}
		objects[key] = o
	}
	return objects
}

// forgetGone removes the annotations that name operators which are gone: OLM removes them with the next InstallPlan.
func forgetGone(meta map[string]any, installed map[string]bool) {
	annotations := field(meta, "annotations")
	maps.DeleteFunc(annotations, func(key string, value any) bool {
		name, _ := value.(string)
		return isAlongside(key, "") && !installed[name]
	})
	if len(annotations) == 0 {
		delete(meta, "annotations")
	}
}

// planNames returns replacements for the random names of InstallPlans, in the form of strings.NewReplacer.
func planNames(all []map[string]any) []string {
	var plans []map[string]any
	for _, o := range all {
		if text(o, "kind") == "InstallPlan" {
			plans = append(plans, o)
		}
	}
	generation := func(o map[string]any) float64 { n, _ := field(o, "spec")["generation"].(float64); return n }
	slices.SortFunc(plans, func(a, b map[string]any) int {
		return cmp.Or(strings.Compare(text(a, "metadata", "namespace"), text(b, "metadata", "namespace")),
			cmp.Compare(generation(a), generation(b)), strings.Compare(text(a, "metadata", "name"), text(b, "metadata", "name")))
	})
	var names []string
	seen := map[string]int{}
	for _, o := range plans {
		name := fmt.Sprintf("plan-%s-%v", text(o, "metadata", "namespace"), generation(o))
		if seen[name]++; seen[name] > 1 {
			name = fmt.Sprintf("%s-%d", name, seen[name])
		}
		names = append(names, text(o, "metadata", "name"), name)
	}
	return names
}

// renamed returns a copy of an object with names replaced in all its strings.
func renamed(o map[string]any, names []string) map[string]any {
	raw, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	var changed map[string]any
	if err := json.Unmarshal([]byte(strings.NewReplacer(names...).Replace(string(raw))), &changed); err != nil {
		panic(err)
	}
	return changed
}

// normalize returns an object without the values that are not compared.
func normalize(o map[string]any) map[string]any {
	kind := text(o, "kind")
	n, _ := (&normalizer{kind}).value(o, "").(map[string]any)
	meta, status := field(n, "metadata"), field(n, "status")
	switch kind {
	case "ClusterServiceVersion":
		normalizeOperator(status)
	case "InstallPlan":
		normalizePlan(status)
	case "ClusterRole":
		if n["aggregationRule"] != nil {
			delete(n, "rules")
		}
		if strings.HasPrefix(text(meta, "name"), "olm.og.") { // they are written in a race
			delete(meta, "labels")
			delete(n, "aggregationRule")
		}
	case "Deployment":
		if raw, _ := json.Marshal(n["spec"]); strings.Contains(string(raw), `\u003ccertificate\u003e`) {
			delete(field(meta, "labels"), labelDeploymentHash)
		}
	case "Operator":
		delete(n, "status") // it lists the objects at a random moment
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		if name := text(meta, "labels", labelWebhook); name != "" {
			meta["name"] = name + "-*"
			delete(meta, "generateName")
		}
	}
	return n
}

// normalizeOperator replaces the conditions of an operator with its history.
func normalizeOperator(status map[string]any) {
	if status == nil {
		return
	}
	var history []any
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		if slices.Contains(passingReasons, text(c, "reason")) {
			continue
		}
		step := []any{text(c, "phase"), text(c, "reason"), ""}
		if step[0] == "Failed" || step[0] == "Unknown" {
			step[2] = text(c, "message")
		}
		if len(history) == 0 || !reflect.DeepEqual(history[len(history)-1], any(step)) {
			history = append(history, step)
		}
	}
	delete(status, "conditions")
	status["history"] = history
	rows, _ := status["requirementStatus"].([]any)
	for _, row := range rows {
		if m, ok := row.(map[string]any); ok {
			delete(m, "dependents")
		}
	}
	slices.SortStableFunc(rows, func(a, b any) int {
		return cmp.Or(strings.Compare(text(a, "kind"), text(b, "kind")), strings.Compare(text(a, "name"), text(b, "name")))
	})
}

func normalizePlan(status map[string]any) {
	steps, _ := status["plan"].([]any)
	slices.SortStableFunc(steps, func(a, b any) int {
		return cmp.Or(strings.Compare(text(a, "resolving"), text(b, "resolving")),
			strings.Compare(text(a, "resource", "kind"), text(b, "resource", "kind")),
			strings.Compare(text(a, "resource", "name"), text(b, "resource", "name")))
	})
	for _, step := range steps {
		if m, ok := step.(map[string]any); ok {
			delete(field(m, "resource"), "manifest")
		}
	}
	lookups, _ := status["bundleLookups"].([]any)
	for _, l := range lookups {
		if m, ok := l.(map[string]any); ok {
			delete(m, "conditions")
		}
	}
}

// A normalizer normalizes the fields of an object of a kind.
type normalizer struct{ kind string }

// value returns a value at a path, such as .spec.name; elements of lists have the path of the list.
func (n *normalizer) value(v any, path string) any {
	switch v := v.(type) {
	case map[string]any:
		return n.object(v, path)
	case []any:
		return n.list(v, path)
	case string:
		return afterUnavailable.ReplaceAllString(v, "$1 …")
	}
	return v
}

func (n *normalizer) object(o map[string]any, path string) map[string]any {
	result := map[string]any{}
	for key, v := range o {
		switch {
		case slices.Contains(droppedFields, key) && !strings.HasSuffix(path, ".properties"),
			key == "generation" && path == ".metadata",
			key == "observedGeneration" && n.kind != "OperatorCondition":
			continue
		case slices.Contains([]string{"caBundle", annotationCAHash, "olm.clusteringress.cert"}, key) && v != "" && v != nil:
			v = "<certificate>"
		case n.kind == "Secret" && path == ".data":
			v = "<data>"
		}
		if v := n.value(v, path+"."+key); !isNothing(v) {
			result[key] = v
		}
	}
	return result
}

func (n *normalizer) list(list []any, path string) []any {
	result := []any{}
	for _, v := range list {
		result = append(result, n.value(v, path))
	}
	by := func(keys ...string) {
		slices.SortStableFunc(result, func(a, b any) int {
			for _, key := range keys {
				if c := strings.Compare(text(a, key), text(b, key)); c != 0 {
					return c
				}
			}
			return 0
		})
	}
	switch {
	case strings.HasSuffix(path, ".ownerReferences"):
		by("kind", "name")
	case path == ".status.conditions" && n.kind != "ClusterServiceVersion":
		by("type")
	case slices.Contains(unorderedLists, n.kind+" "+path):
		slices.SortFunc(result, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	return result
}

// isNothing reports whether a value is equivalent to a missing field.
func isNothing(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return v == nil || v == ""
}

// playDifferences returns the differences between the objects of a cluster and of a simulation.
func playDifferences(all, others []map[string]any) []playDifference {
	actual, ours := normalized(all), normalized(others)
	keys := maps.Clone(actual)
	maps.Copy(keys, ours)
	var found []playDifference
	for _, key := range slices.SortedFunc(maps.Keys(keys), func(a, b [4]string) int { return slices.Compare(a[:], b[:]) }) {
		found = append(found, objectDifferences(key, actual[key], ours[key])...)
	}
	return found
}

func objectDifferences(key [4]string, actual, ours map[string]any) []playDifference {
	kind, namespace, name := key[1], key[2], key[3]
	either := actual
	if either == nil {
		either = ours
	}
	isOfCluster := kind == "APIService" && field(either, "spec")["service"] == nil ||
		kind == "ConfigMap" && name == "kube-root-ca.crt" || kind == "ServiceAccount" && name == "default"
	if isOfCluster || unpackingName.MatchString(name) {
		return nil
	}
	title := kind + " " + strings.TrimPrefix(namespace+"/"+name, "/")
	switch {
	case actual == nil:
		return []playDifference{{title: "only in ours: " + title}}
	case ours == nil:
		return []playDifference{{title: "only in OLM: " + title}}
	}
	c := comparison{kind: kind, title: title}
	c.values(actual, ours, "")
	return c.found
}

// A comparison collects the differences of an object.
type comparison struct {
	kind, title string
	found       []playDifference
}

func (c *comparison) values(actual, ours any, path string) {
	a, isObject := actual.(map[string]any)
	b, both := ours.(map[string]any)
	if isObject && both {
		keys := maps.Clone(a)
		maps.Copy(keys, b)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			c.values(a[key], b[key], path+"."+key)
		}
		return
	}
	list, isList := actual.([]any)
	other, both := ours.([]any)
	if isList && both && len(list) == len(other) {
		for i := range list {
			c.values(list[i], other[i], fmt.Sprintf("%s[%d]", path, i))
		}
		return
	}
	if !reflect.DeepEqual(actual, ours) {
		c.add(playDifference{c.title + " " + path, actual, ours})
	}
}

func (c *comparison) add(d playDifference) {
	field := c.kind + strings.TrimPrefix(d.title, c.title)
	noConversion := map[string]any{"strategy": "None"}
	switch {
	case ignoredFields.MatchString(field),
		d.ours == nil && defaultedFields.MatchString(field),
		field == "CustomResourceDefinition .spec.conversion" && d.ours == nil && reflect.DeepEqual(d.real, any(noConversion)):
		return
	}
	c.found = append(c.found, d)
}
