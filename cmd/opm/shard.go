package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/render"
)

// addShardFlag adds --shard to a command that asks registries for many images.
func addShardFlag(cmd *cobra.Command, shard *render.Shard, what string) {
	usage := fmt.Sprintf("only part `INDEX/COUNT` of the %s, the first is 0/COUNT; COUNT alone takes INDEX from $%s",
		what, completionIndex)
	cmd.Flags().Var((*shardFlag)(shard), "shard", usage)
	completeNothing(cmd, "shard")
}

// completionIndex is the variable that the pods of an indexed Job have.
const completionIndex = "JOB_COMPLETION_INDEX"

// A shardFlag is the value of a flag.
type shardFlag render.Shard

func (s *shardFlag) String() string {
	if *s == (shardFlag{}) {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Count)
}

func (s *shardFlag) Type() string { return "shard" }

func (s *shardFlag) Set(text string) error {
	if !strings.Contains(text, "/") {
		index := os.Getenv(completionIndex)
		if index == "" {
			return fmt.Errorf("want INDEX/COUNT, since $%s is not set", completionIndex)
		}
		text = index + "/" + text
	}
	shard, err := render.ParseShard(text)
	*s = shardFlag(shard)
	return err
}
