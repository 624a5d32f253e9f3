package simulate

import (
	"io"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/common/expfmt"
)

// WriteMetrics writes the metrics that OLM Classic exports at the end of a simulation, sorted, in the text format of
// Prometheus. Counters start with the simulation: csv_upgrade_count is the number of operators whose replacement
// started, and subscription_sync_total counts one sync of each Subscription with its last values.
//
// Metrics that depend on time or on responses of the API server are omitted: catalog_source_snapshots_total,
// olm_resolution_duration_seconds and installplan_warnings_total.
func (r *Result) WriteMetrics(out io.Writer) error {
	registry := prometheus.NewRegistry()
	m := metrics{promauto.With(registry)}
	m.gauge("install_plan_count", "Number of install plans", r.State.InstallPlans.Len())
	m.gauge("subscription_count", "Number of subscriptions", r.State.Subscriptions.Len())
	m.gauge("catalog_source_count", "Number of catalog sources", r.State.CatalogSources.Len())
	ready := m.gauges("catalogsource_ready", "State of a CatalogSource. 1 indicates that the CatalogSource is in a "+
		"READY state. 0 indicates CatalogSource is in a Non READY state.", "namespace", "name")
	for o := range r.State.CatalogSources.All() {
		if connection := o.Value.Status.GRPCConnectionState; connection != nil { // nil if OLM does not connect
			ready.WithLabelValues(o.Value.Namespace, o.Value.Name).Set(oneIf(connection.LastObservedState == connected))
		}
	}
	syncs := m.NewCounterVec(prometheus.CounterOpts{
		Name: "subscription_sync_total", Help: "Monotonic count of subscription syncs",
	}, []string{"name", "installed", "channel", "package", "approval"})
	for o := range r.State.Subscriptions.All() {
		spec := o.Value.Spec
		syncs.WithLabelValues(o.Value.Name, o.Value.Status.InstalledCSV, spec.Channel, spec.Package,
			string(spec.InstallPlanApproval)).Inc()
	}
	m.operators(r)
	families, err := registry.Gather()
	if err != nil {
		return err
	}
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(out, f); err != nil {
			return err
		}
	}
	return nil
}

type metrics struct{ promauto.Factory }

// gauge adds a gauge without labels.
func (m metrics) gauge(name, help string, value int) {
	m.NewGauge(prometheus.GaugeOpts{Name: name, Help: help}).Set(float64(value))
}

func (m metrics) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return m.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
}

// operators adds the metrics of ClusterServiceVersions. It ignores copies, as OLM does.
func (m metrics) operators(r *Result) {
	m.NewCounter(prometheus.CounterOpts{
		Name: "csv_upgrade_count", Help: "Monotonic count of CSV upgrades",
	}).Add(float64(r.replaced))
	succeeded := m.gauges("csv_succeeded", "Successful CSV install", "namespace", "name", "version")
	abnormal := m.gauges("csv_abnormal", "CSV is not installed", "namespace", "name", "version", "phase", "reason")
	count := 0
	for o := range r.State.ClusterServiceVersions.All() {
		csv := o.Value
		if csv.IsCopied() {
			continue
		}
		count++
		version, status := csv.Spec.Version.String(), &csv.Status
		ok := status.Phase == v1alpha1.CSVPhaseSucceeded
		succeeded.WithLabelValues(csv.Namespace, csv.Name, version).Set(oneIf(ok))
		if !ok {
			abnormal.WithLabelValues(csv.Namespace, csv.Name, version, string(status.Phase), string(status.Reason)).Set(1)
		}
	}
	m.gauge("csv_count", "Number of CSVs successfully registered", count)
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
