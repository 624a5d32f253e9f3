// Command client asks a registry which operators it has, and which bundles users of each get:
//
//	opm serve catalog &
//	go run ./examples/client localhost:50051
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/opm-toolchain/opm/pkg/api/client"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: client ADDRESS")
		os.Exit(1)
	}
	if err := list(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

func list(addr string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := client.New(addr, client.Options{})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.WaitReady(ctx); err != nil {
		return err
	}
	for name, err := range c.Packages(ctx) {
		if err != nil {
			return err
		}
		p, err := c.Package(ctx, name)
		if err != nil {
			return err
		}
		for _, channel := range p.GetChannels() {
			fmt.Printf("%s, channel %s: %s\n", name, channel.GetName(), channel.GetCsvName())
		}
	}
	return nil
}
