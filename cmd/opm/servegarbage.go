package main

import (
	"context"
	"runtime/metrics"
	"time"
)

// Limits on garbage in a server. Memory peaks while the server loads; until it is ready, the limit is loadingGarbage
// bytes, but at least loadingGCPercent of the live heap. A percentage alone would make the garbage collector run most
// often while the heap is small, which takes time and saves nothing. Afterwards, the percentage of other commands would
// be so low that a third of the time to answer would go into collecting garbage.
const (
	loadingGarbage   = 4 << 20
	loadingGCPercent = 20
	servingGCPercent = 100
)

// limitGarbage limits garbage as loading needs it until ctx is done, and then as serving does.
func limitGarbage(ctx context.Context) {
	defer setGCPercent(servingGCPercent)
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for ctx.Err() == nil {
		metrics.Read(live)
		setGCPercent(percentWhileLoading(live[0].Value.Uint64()))
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

// percentWhileLoading returns GOGC for a live heap of that many bytes.
func percentWhileLoading(live uint64) int {
	percent := 100 * loadingGarbage / max(live, loadingGarbage)
	return int(max(loadingGCPercent, percent))
}
