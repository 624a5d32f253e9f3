package main

import (
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/failure"
	"github.com/opm-toolchain/opm/cmd/opm/internal/problems"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/publish/pipeline"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/internal/report"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// print prints the summaries, and writes them to the files. If steps failed, the error has the exit status of the
// outcomes: 1 if a catalog is rejected.
func (f *publishFlags) print(cmd *cobra.Command, all []*pipeline.Summary, files []*os.File) error {
	about := func() *report.Report { return pipeline.ReportAll(all) }
	result := &output.Result{Value: all, Report: about}
	if !f.report.each.given() {
		result.Value = all[0]
	}
	var errs []error
	for _, file := range files {
		form := output.Markdown
		if strings.HasSuffix(file.Name(), ".json") {
			form = output.JSON
			errs = append(errs, emptySummary(file)) // a second document would make it invalid
		}
		errs = append(errs, result.Write(file, form))
	}
	if f.format == string(problem.GitHub) {
		errs = append(errs, annotateProblems(cmd, all, f.report.each.given()))
	} else {
		errs = append(errs, printResult(cmd, result))
	}
	err := errors.Join(errs...)
	isRejected, failed := pipeline.Failure(all, f.report.each.given())
	if err != nil || failed == nil || isRejected {
		return errors.Join(err, failed)
	}
	return failure.WithStatus(failed, 2)
}

// emptySummary removes the content of a file that opm opened, but not of a device, a pipe or a descriptor of the
// process.
func emptySummary(file *os.File) error {
	if _, ok := regular.Descriptor(file.Name()); ok {
		return nil
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	return file.Truncate(0)
}

// annotateProblems prints the problems of all steps for GitHub, without hints. A problem that several catalogs have is
// printed at each of its places; one that has the same place in all, or none, is printed once.
func annotateProblems(cmd *cobra.Command, all []*pipeline.Summary, several bool) error {
	found := &problem.Report{Problems: all[0].Problems()}
	if several {
		found.Problems = pipeline.MergedProblems(all)
	}
	found.Problems = problems.Shown(found.Problems, false)
	return found.Write(dataOutput(cmd), problem.GitHub)
}
