package kube

import (
	"context"
	"time"
)

// SetSleep replaces the function that waits before a request is repeated.
func SetSleep(o *Options, sleep func(context.Context, time.Duration) error) { o.sleep = sleep }
