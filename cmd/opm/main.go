// Command opm is the toolchain for file-based catalogs of Kubernetes Operators.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// run executes one command line and returns the exit code: 0 for success, 1 for anything else.
func run(ctx context.Context, args []string) int {
	root := rootCmd()
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	printError(os.Stderr, cmd, err)
	return 1
}
