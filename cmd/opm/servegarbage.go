package main

import (
	"context"
	"runtime/metrics"
	"time"
)

// How much garbage may gather in a server. Until it is ready, it needs more memory than ever after: then it is so many
// bytes, but at least so many percent of what is in use. With percent alone, the garbage collector would run most often
// while little is in use, which takes time and saves nothing. From then on, what suits other commands is so little that
// a third of the time to answer would go into collecting it.
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

// percentWhileLoading returns how much garbage may gather for so many bytes in use.
func percentWhileLoading(live uint64) int {
	percent := 100 * loadingGarbage / max(live, loadingGarbage)
	return int(max(loadingGCPercent, percent))
}
