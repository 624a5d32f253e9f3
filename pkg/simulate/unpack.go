package simulate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/pkg/cluster"
	"github.com/opm-toolchain/opm/pkg/resolve"
)

// unpack has the bundles of an answer unpacked, and reports whether all are. That takes a step, once for each image. As
// long as one cannot be unpacked, OLM installs nothing in the namespace.
func (r *run) unpack(answer *cluster.Namespace) bool {
	if err := r.unpackable(answer); err != nil {
		r.block(answer, "a bundle that can be unpacked: "+err.Error(), Computed)
		r.unpackFailed(answer, "ErrorPreventedUnpacking", err.Error(), computed("OLM cannot read the manifests"))
		return false
	}
	failing := r.failing(answer)
	isReported := len(failing) > 0 && r.haveCondition(answer.Name, v1alpha1.SubscriptionBundleUnpackFailed)
	if !isReported && r.startUnpacking(answer) {
		return false
	}
	if len(failing) == 0 {
		return true
	}
	names := strings.Join(failing, ", ")
	r.block(answer, "the bundle image of "+names+", which cannot be unpacked", Assumed)
	r.unpackFailed(answer, "BundleUnpackFailed", jobFailed,
		assumed("nothing of the namespace is installed while one bundle cannot be unpacked: "+names))
	return false
}

// jobFailed is what OLM says of a Job that could not unpack the image of a bundle.
const jobFailed = "Bundle unpacking failed - BackoffLimitExceeded: Job has reached the specified backoff limit. " +
	"Auto-retry in ~5 min after job cleanup (TTL). Common causes: Missing ICSP (ppc64le/s390x/arm64), auth failure, " +
	"invalid image. Manual retry: in the CatalogSource namespace, run " +
	"`kubectl get jobs -l operatorframework.io/bundle-unpack-ref` and delete the specific failing job."

// failing returns the bundles of an answer whose images are assumed to fail.
func (r *run) failing(answer *cluster.Namespace) []string {
	var failing []string
	for _, c := range answer.Install {
		if slices.Contains(r.opts.FailUnpack, c.Bundle) {
			failing = append(failing, c.Bundle)
		}
	}
	return failing
}

// startUnpacking starts to unpack the images of an answer, and reports whether the namespace has to wait for that.
func (r *run) startUnpacking(answer *cluster.Namespace) bool {
	images, step, before := r.images(answer), r.Steps+1, len(r.Events)
	if since, ok := r.unpacking[images]; images == "" || ok && since < step {
		return false
	}
	r.unpacking[images] = step
	r.setAll(answer.Name, func(status *v1alpha1.SubscriptionStatus) {
		setCondition(status, resolve.Condition{
			Type: string(v1alpha1.SubscriptionBundleUnpacking), Status: metav1.ConditionTrue, Reason: "UnpackingInProgress",
		})
	}, computed("Jobs unpack the images of bundles before there is an InstallPlan"))
	return len(r.Events) > before // not if it has begun before the state was saved
}

// unpackFailed says in all Subscriptions why a bundle cannot be unpacked.
func (r *run) unpackFailed(answer *cluster.Namespace, cause, message string, why reason) {
	r.setAll(answer.Name, func(status *v1alpha1.SubscriptionStatus) {
		status.RemoveConditions(v1alpha1.SubscriptionBundleUnpacking)
		setCondition(status, resolve.Condition{
			Type: string(v1alpha1.SubscriptionBundleUnpackFailed), Status: metav1.ConditionTrue, Reason: cause, Message: message,
		})
	}, why)
}

// unpackable returns an error about a bundle whose manifests cannot be read.
func (r *run) unpackable(answer *cluster.Namespace) error {
	for _, c := range answer.Install {
		b, err := r.bundle(c.CatalogNamespace, c.Catalog, c.Bundle)
		if err == nil {
			_, err = b.objects(answer.Name)
		}
		if err != nil {
			return fmt.Errorf("bundle %s: %w", c.Bundle, err)
		}
	}
	return nil
}

// haveCondition reports whether all Subscriptions of a namespace have a condition.
func (r *run) haveCondition(namespace string, of v1alpha1.SubscriptionConditionType) bool {
	for o := range r.State.Subscriptions.In(namespace) {
		if o.Value.Status.GetCondition(of).Status != "True" {
			return false
		}
	}
	return true
}

// images returns the images of what an answer installs, as a key.
func (r *run) images(answer *cluster.Namespace) string {
	var images []string
	for _, c := range answer.Install {
		if b, _ := r.bundle(c.CatalogNamespace, c.Catalog, c.Bundle); b.Image != "" {
			images = append(images, b.Image)
		}
	}
	return strings.Join(images, " ")
}
