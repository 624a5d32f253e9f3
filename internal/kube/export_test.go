package kube

import (
	"context"
	"time"
)

// SetSleep replaces the function that waits before a request is repeated.
func SetSleep(o *Options, sleep func(context.Context, time.Duration) error) { o.sleep = sleep }

// SetAfter replaces the function that ends the time in which changes are gathered.
func SetAfter(o *Options, after func(time.Duration) <-chan time.Time) { o.after = after }
