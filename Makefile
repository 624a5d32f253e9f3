# `make help` lists the targets. Development tools are pinned in tools/go.mod. Logic longer than a line is in scripts/.

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
COMMIT  ?= $(shell git rev-parse --verify -q HEAD)
# The date of the commit, in UTC, so that one commit makes one binary.
DATE    ?= $(shell TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd 2>/dev/null)

# The product, its benchmarks and the tests of the whole program.
MODULES := . bench test

# Data that are not part of this repository.
SHARED      := ../shared
BIG_CATALOG ?= $(SHARED)/data/big-catalog.tar.xz
OPERATORS   ?= $(SHARED)/data/operators

# Upstream's opm, for benchmarks to run in turn with ours: make bench OPM_UPSTREAM=/usr/bin/opm
OPM_UPSTREAM ?=

# An older opm that make build built, for compare, and the lines to run: make compare OLD=opm-before RUN='opm (list|validate)'
OLD ?=
RUN ?=

# Where the pages of docs/ go, as a site.
SITE ?= dist/site

# What a release is built for, and where its image is pushed: HOST/PATH:TAG, several with spaces, or nowhere.
PLATFORMS ?= linux/amd64 linux/arm64 linux/ppc64le linux/s390x darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
IMAGE     ?=

# Where install puts the program: below DESTDIR, which only packagers set.
PREFIX  ?= /usr/local
DESTDIR ?=

FUZZTIME  ?= 10s
BENCH     ?= .
BENCHTIME ?= 1s

# The packages that start goroutines.
CONCURRENT := ./cmd/opm/internal/console ./cmd/opm/internal/process ./cmd/opm/internal/watch ./internal/compose \
	./internal/edit ./internal/filter ./internal/imagecheck ./internal/kube ./internal/list ./internal/mirror \
	./internal/olm/across ./internal/olm/updatecheck ./internal/olm/impact ./internal/olm/install ./internal/parallel \
	./internal/publish ./internal/regular ./internal/resolve ./internal/serve/... ./internal/served ./internal/spool \
	./internal/tarfs ./internal/testing/kubetest ./pkg/declcfg ./pkg/image ./pkg/render ./pkg/serve/... ./pkg/validate \
	./schemas

# Everything is compiled once, in the way of a release: without C and without paths of this machine.
export CGO_ENABLED := 0
export GOFLAGS := -trimpath $(filter-out -trimpath,$(GOFLAGS))

# How tests run. A package has an hour: tests start programs, maybe on a machine that is busy with others. Some tests of a
# package run beside tests that wait. lint includes go vet, which would also analyze all dependencies here.
TESTFLAGS := -timeout=60m -parallel=4 -vet=off

TOOL    := go tool -modfile=$(CURDIR)/tools/go.mod
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT) -X main.date=$(DATE)

.PHONY: all help build install release packages image demo test test-program test-packages check fmt lint tidy generated test full attacks race hostile vuln startup conformance registry cluster bench budget measured growth bench-serve compare fuzz generate site clean

all: build test lint ## Build, test and lint (the default)

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## Build bin/opm, as go build does, stripped and with its version set
	@go build -buildvcs=false -ldflags '$(LDFLAGS)' -o bin/opm ./cmd/opm

install: build ## Install bin/opm below PREFIX, with man pages and completion
	@sh scripts/install.sh bin/opm bin/opm '$(DESTDIR)$(PREFIX)'

release: ## Build opm for PLATFORMS into dist/, with checksums and SBOMs
	@sh scripts/release.sh dist '$(VERSION)' '$(LDFLAGS)' $(PLATFORMS)

packages: build release ## Make archives and deb, rpm and apk packages in dist/, a Homebrew formula and a krew manifest
	@sh scripts/packages.sh dist '$(VERSION)' bin/opm

image: build release ## Make the image of opm from dist/, without a container engine; push it if IMAGE is set
	@sh scripts/image.sh bin/opm dist '$(IMAGE)'

demo: build ## Show the way of the examples from a bundle and a template to a served image
	@sh scripts/demo.sh bin/opm

# Tests write many small files and make much garbage. Temporary files in memory, if it has room, and rare collections save
# a quarter of the time.
test race: export TMPDIR := $(or $(TMPDIR),$(shell sh scripts/memory-dir.sh),/tmp)
test race: export GOGC := 300
test: ## Run the tests of all modules
	@$(MAKE) --no-print-directory -j2 test-program test-packages

# It mostly waits for registries, browsers and programs, so the tests of packages run beside it.
test-program:
	go -C test test $(TESTFLAGS) -count=1 .

# Linking and tests that wait leave a processor idle: without all data, one package more is tested at once than there are
# processors.
test-packages:
	go test $(TESTFLAGS) $(if $(OPM_TESTS),,-p=$$(($$(getconf _NPROCESSORS_ONLN) + 1))) ./...
	go -C bench test $(TESTFLAGS) ./...

check: fmt lint tidy generated full attacks vuln startup registry ## Everything that CI checks

fmt: ## Fail if gofmt would change a file
	@test -z "$$(gofmt -l .)" || { echo 'gofmt would change:'; gofmt -l .; exit 1; }

lint: ## Run the linters of .golangci.yml, which include go vet
	@set -e; for m in $(MODULES); do (set -x; cd $$m; $(TOOL) golangci-lint run ./...); done
	go -C tools vet ./...

tidy: ## Fail if a go.mod or go.sum is not tidy
	@set -e; for m in $(MODULES) tools; do (set -x; go -C $$m mod tidy -diff); done

generated: ## Fail if a generated file is not what generate makes
	@sh scripts/generated.sh

full: export OPM_TESTS = full
full: test ## Run the tests of all modules with all data

# Each of them leaves a processor idle at times. Their limits are on the time of processors, not on the clock.
attacks:
	@$(MAKE) --no-print-directory -j2 race hostile

race: export CGO_ENABLED := 1
race: ## Run the tests of packages that start goroutines under the race detector (needs a C compiler)
	go test -race $(TESTFLAGS) $(CONCURRENT)

hostile: export OPM_TESTS = full
hostile: ## Attack opm with hostile input and hostile peers, within bounds on time and memory
	go -C test test $(TESTFLAGS) -count=1 ./hostile/...

vuln: ## Fail if opm calls code with a known vulnerability; pass if the database cannot be had
	@sh scripts/vuln.sh

startup: build ## Report how long bin/opm takes to start; fail if our own packages do much work there
	@sh scripts/startup.sh bin/opm

conformance: export OPM_TESTS = full
conformance: ## Compare opm with upstream: run the conformance scripts, then registry
	go -C test test $(TESTFLAGS) -run TestConformance -count=1 .
	@$(MAKE) --no-print-directory registry

registry: build ## Compare the answers of opm serve for the published catalogs with those of upstream
	@sh scripts/registry.sh bin/opm $(SHARED)

cluster: ## Ask a real API server, which is built here (needs etcd; not in CI)
	@sh scripts/cluster.sh .bench/cluster

bench: ## Run the Go benchmarks, compare them with the last run, then measure the budget
	@mkdir -p .bench
	@if [ -f .bench/go.txt ]; then mv .bench/go.txt .bench/go.old.txt; fi
	go test -run='^$$' -bench='$(BENCH)' -benchtime=$(BENCHTIME) -benchmem ./... | tee .bench/go.txt
	@if [ -f .bench/go.old.txt ]; then $(TOOL) benchstat .bench/go.old.txt .bench/go.txt; fi
	@$(MAKE) --no-print-directory budget

# What is measured is a copy. The linker leaves its file in large pages of the page cache, and each that is touched counts
# as a whole, as up to 10 MB of memory.
measured: build
	@mkdir -p .bench
	@cp bin/opm .bench/opm
	@go -C bench build -o ../.bench/bench .
	@.bench/bench -opm .bench/opm -dir .bench -archive $(BIG_CATALOG) -prepare

budget: measured ## Measure bin/opm on the big catalog, and on bundles and their images, against its budget or OPM_UPSTREAM
	@.bench/bench -opm .bench/opm -upstream '$(OPM_UPSTREAM)' -dir .bench -operators $(OPERATORS) \
		-templates $(SHARED)/data/catalog-templates

growth: measured ## Measure how time and memory grow with the catalog, up to 3 GB
	@.bench/bench -opm .bench/opm -dir .bench -archive $(BIG_CATALOG) -growth -prepare
	@.bench/bench -opm .bench/opm -dir .bench -growth -runs 1

bench-serve: measured ## Measure bin/opm serve with the big catalog against its budget or OPM_UPSTREAM
	@go -C bench build -o ../.bench/serve ./serve
	@.bench/serve -opm .bench/opm -upstream '$(OPM_UPSTREAM)' -catalog .bench/big-catalog

compare: build ## Compare the output and the files of bin/opm with those of OLD, for some thousand command lines
	@mkdir -p .bench
	@go -C bench build -o ../.bench/compare ./compare
	@.bench/compare -old '$(OLD)' -new bin/opm -shared $(SHARED) -run '$(RUN)'

fuzz: ## Run every fuzz target for FUZZTIME
	@sh scripts/fuzz.sh $(FUZZTIME)

generate: ## Regenerate the generated files
	go generate ./...

site: ## Build the site of docs/ in SITE (needs hugo)
	@hugo --quiet --source docs/site --destination '$(abspath $(SITE))' --cleanDestinationDir --noBuildLock

clean: ## Remove what was built and measured
	rm -rf bin dist .bench
