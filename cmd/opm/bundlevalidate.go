package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/completion"
	"github.com/opm-toolchain/opm/cmd/opm/internal/problems"
	"github.com/opm-toolchain/opm/internal/opmyaml"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/problem"
)

func bundleValidateCmd(path string) *cobra.Command {
	f := bundleValidateFlags{reportFlags: reportFlags{Printer: problems.Printer{Rules: bundle.Rules}}}
	return command{
		Use:   "validate (BUNDLE | --tag REF)",
		Short: "Validate a bundle and report every problem",
		Long: `Check the format and the content of a bundle and report everything that is wrong, with its
place and the rule that it breaks. Errors are what OLM refuses; the exit code is 1 if there are
any. Warnings are what a cluster or a user may trip over.

A BUNDLE is a directory with manifests/ and metadata/, an image in a registry, in an OCI layout
(oci:DIRECTORY[:TAG]) or in an archive; --tag is another way to name it. Problems are printed as
text on standard error, in other formats on standard output.

Optional validators are operatorhub, for what OperatorHub.io demands, and bundle-objects, for
manifests that endanger a cluster. $OPERATOR_BUNDLE_CATEGORIES may name a JSON file with the
categories that operatorhub allows.`,
		Example: "  " + path + ` validate bundle -o json
  ` + path + ` validate bundle --optional-validators operatorhub,bundle-objects --output json
  ` + path + ` validate --tag registry.example/pottery/kiln-bundle:v2.0.0`,
		args:     f.args,
		complete: completion.Args(completion.Files),
		flags:    f.add,
		report:   &f.reportFlags,
		do:       func(cmd *cobra.Command, args []string) error { return f.run(cmd, append(args, f.tag)[0]) },
	}.cobra()
}

// bundleValidateFlags are the flags of bundle validate.
type bundleValidateFlags struct {
	reportFlags
	tag     string
	engine  string
	format  string // of --output and -o
	options bundle.CheckOptions
	images  imageFlags
}

func (f *bundleValidateFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.tag, "tag", "t", "", "check the image `REF`, instead of an argument")
	flags.StringVarP(&f.engine, "image-builder", "b", "docker", "has no effect: no container engine is needed")
	flags.VarP((*validatorList)(f), "optional-validators", "o",
		"check with operatorhub, bundle-objects, or both with a comma in between; with a format, as --output")
	cmdline.ChoiceVar(cmd, &f.format, "output", "", string(problem.Text), "output format", problem.Formats()...)
	f.reportFlags.add(cmd)
	f.addRules(cmd, "tag", "optional-validators")
	f.images.add(cmd)
	cmdline.Must(cmd.RegisterFlagCompletionFunc("optional-validators",
		cobra.FixedCompletions(validatorWords, cobra.ShellCompDirectiveNoFileComp)))
}

func (f *bundleValidateFlags) args(cmd *cobra.Command, args []string) error {
	if f.tag == "" {
		return cmdline.WantArgs("BUNDLE")(cmd, args)
	}
	return cmdline.WantArgs("")(cmd, args)
}

// A validatorList is the value of the flag -o, which upstream has for validators. Most commands have it for the format.
type validatorList bundleValidateFlags

var validatorWords = append([]string{"operatorhub", "bundle-objects"}, problem.Formats()...)

func (v *validatorList) String() string {
	var words []string
	if v.options.OperatorHub {
		words = append(words, "operatorhub")
	}
	if v.options.BundleObjects {
		words = append(words, "bundle-objects")
	}
	return strings.Join(words, ",")
}

func (v *validatorList) Type() string { return "list" }

func (v *validatorList) Set(list string) error {
	for word := range strings.SplitSeq(list, ",") {
		switch {
		case word == "":
		case word == "operatorhub":
			v.options.OperatorHub = true
		case word == "bundle-objects":
			v.options.BundleObjects = true
		case slices.Contains(problem.Formats(), word):
			v.format = word
		default:
			return fmt.Errorf("%q: want %s", word, cmdline.OneOf(validatorWords))
		}
	}
	return nil
}

func (f *bundleValidateFlags) run(cmd *cobra.Command, ref string) error {
	err := f.reportFlags.run(cmd, ref, func(*opmyaml.Config) (r *problem.Report, err error) {
		if f.options.Categories, err = hubCategories(f.options.OperatorHub); err != nil {
			return nil, err
		}
		b, err := f.images.openBundle(cmd, ref)
		if err != nil {
			return nil, err
		}
		return &problem.Report{Subject: "bundle", Rules: bundle.Rules(), Problems: b.check(f.options)}, b.close()
	})
	if err == nil && cmdline.Format(cmd) == output.Text { // upstream's words, which scripts wait for
		fmt.Fprintln(cmd.ErrOrStderr(), "opm: All validation tests have been completed successfully")
	}
	return err
}

// hubCategories returns the categories that the environment names, nil for none.
func hubCategories(wanted bool) ([]string, error) {
	name := os.Getenv("OPERATOR_BUNDLE_CATEGORIES")
	if name == "" || !wanted {
		return nil, nil
	}
	text, err := regular.ReadNamed(name)
	if err != nil {
		return nil, fmt.Errorf("read $OPERATOR_BUNDLE_CATEGORIES: %w", err)
	}
	var list struct {
		Categories []string `json:"categories"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("read $OPERATOR_BUNDLE_CATEGORIES: %s: %w", name, err)
	}
	if list.Categories == nil {
		return nil, fmt.Errorf("read $OPERATOR_BUNDLE_CATEGORIES: %s has no list of categories", name)
	}
	return list.Categories, nil
}
