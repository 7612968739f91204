# make help lists the words. Set-up is one of two commands: make run, make test; both install what they need, pinned.
SHELL := /bin/bash
DATA  ?=
FLAGS := $(if $(DATA),--data $(DATA))
FUZZ  ?= 10s

.PHONY: run test build lint race fuzz bench bench-grow bench-search bench-go fleet image golden conformance security attacks faults react example-react help
.DEFAULT_GOAL := help

run: build library/node_modules ## publish the real library into a local folder, and serve it
	./iconedge publish $(if $(DATA),--store dir:$(DATA)/store) library/node_modules/@iconify/json
	./iconedge run $(FLAGS)

test: lint tools/node_modules chromium engines ## pass every test: lint, unit and behaviour tests under the race detector, a browser
	go test -race -timeout 15m ./...
	go test -C loadtest -race -timeout 15m ./...
	go test -C tools ./...
	go test -C tools/promql ./...
	go test -C tools/deploy -timeout 20m ./...
	$(MAKE) react

build: ## build the program
	go build -trimpath -o iconedge ./cmd/iconedge

# Licences that may be part of what we ship: none of them asks anything of who uses the program but to keep its notice.
LICENSES := Apache-2.0,BSD-2-Clause,BSD-3-Clause,ISC,MIT
LICENCE_CHECK := --allowed_licenses=$(LICENSES) --logtostderr=false --stderrthreshold=2 --log_file=/dev/null

lint: tools/node_modules ## gofmt, vet, staticcheck, English (tools/prose), known holes (where a database can be had), licences of what is linked in, the OpenAPI document
	@out=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$out" ] || { echo "gofmt: $$out"; exit 1; }
	go vet ./...
	go vet -C loadtest ./...
	go tool -modfile=tools/go.mod staticcheck ./...
	go tool -C loadtest -modfile=../tools/go.mod staticcheck ./...
	go tool -modfile=tools/go.mod go-licenses check ./cmd/iconedge $(LICENCE_CHECK)
	go tool -C loadtest -modfile=../tools/go.mod go-licenses check . --ignore github.com/iconedge/iconedge $(LICENCE_CHECK)
	@if command -v govulncheck >/dev/null; then for module in . loadtest; do govulncheck -C $$module ./... || [ $$? != 3 ] || exit 1; done; else echo "no govulncheck here: known holes of dependencies are NOT looked for"; fi
	go run -C tools ./prose ..
	tools/node_modules/.bin/redocly lint --config tools/redocly.yaml docs/openapi.yaml

race: ## the Go tests alone, under the race detector
	go test -race ./...
	go test -C loadtest -race ./...

fuzz: ## every fuzz target for FUZZ (10s)
	@set -e; for module in . loadtest; do for pkg in $$(go list -C $$module ./...); do for f in $$(go test -C $$module -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	  echo "$$pkg $$f"; go test -C $$module $$pkg -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZ); done; done; done

bench: build .cache/loadtest library/node_modules ## an edge against nginx, Varnish, HAProxy and bare fasthttp, in the clear and over TLS; writes docs/performance.md
	.cache/loadtest bench --iconedge ./iconedge --rounds 3 --round 3s --install --docs docs

bench-grow: build .cache/loadtest ## how an edge's cost grows with entries, connections, cores and bodies
	.cache/loadtest grow --iconedge ./iconedge --docs docs

fleet: build .cache/loadtest engines library/node_modules .cache/versitygw ## three regions, shield, origin, S3, Redis and Prometheus as processes here, while parts of them fail; writes docs/fleet.md (SHORT=1: a few seconds a phase, no page)
	go build -trimpath -ldflags '-X main.version=next' -o .cache/iconedge-next ./cmd/iconedge
	.cache/loadtest fleet --iconedge ./iconedge --next .cache/iconedge-next --s3 $(CURDIR)/.cache/versitygw --work .cache/fleet $(if $(SHORT),--short,--docs docs)

bench-search: library/node_modules ## relevance and cost of search, beside SQLite; writes docs/search.md (QUERIES=FILE names the questions)
	ICONEDGE_LIBRARY=$(CURDIR)/library/node_modules/@iconify/json ICONEDGE_QUERIES=$(abspath $(or $(QUERIES),../shared/search/dev-queries.jsonl)) \
	  go test -tags baseline -count=1 -v -timeout 30m -run TestRelevance ./origin/search

bench-go: ## the Go benchmarks of every package
	go test -run '^$$' -bench . -benchmem ./...
	go test -C loadtest -run '^$$' -bench . -benchmem ./...

conformance: build library/node_modules tools/node_modules tools/mcp/node_modules ## the public cache suite, us and the caches that are installed; the whole real library, compared with Iconify's own renderer; the MCP Inspector and suite; h2spec
	ICONEDGE_PEERS=1 ICONEDGE_MCP=$(CURDIR)/iconedge ICONEDGE_LIBRARY=$(CURDIR)/library/node_modules/@iconify/json \
	  go test -p 1 -count=1 -v -timeout 30m -run TestConformance ./test/conformance ./cmd/iconedge
	ICONEDGE_LIBRARY=$(CURDIR)/library/node_modules/@iconify/json go test -count=1 -v -timeout 30m -run 'TestLibrary' ./origin/... ./mcp/...
	go test -count=1 -v -run TestH2Spec ./edge

attacks: ## floods, slow clients and a stuck origin; what becomes of a client that behaves, and what they cost the edge
	ICONEDGE_ATTACKS=1 go test -count=1 -v -timeout 30m -run 'TestAttacks$$' ./test/attacks
	ICONEDGE_HOARDS=all go test -count=1 -v -timeout 30m -run 'TestHoards$$' ./test/attacks

faults: ## what clients see when origins, processes, stores and disks fail; the same for the proxies that are installed; writes docs/faults.md
	ICONEDGE_PEERS=1 go test -count=1 -v -timeout 60m -run '^TestFaults$$' ./test/faults

security: tools/node_modules chromium ## every attack that is in the tests; writes the table of docs/security.md
	go test -json -timeout 30m ./admin ./edge/... ./origin/svg ./cmd/iconedge ./test/attacks ./test/faults | go run -C tools ./security ../docs/security.md

VERSION ?= $(shell git describe --tags --always --dirty)
IMAGE   ?= iconedge:latest
BASES   ?=

image: ## the program for amd64 and arm64 into dist/, and its container (IMAGE, VERSION, BASES) where docker or podman is
	@set -e; for arch in amd64 arm64; do echo "dist/iconedge-linux-$$arch"; \
	  CGO_ENABLED=0 GOOS=linux GOARCH=$$arch go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o dist/iconedge-linux-$$arch ./cmd/iconedge; done
	@build="build -f deploy/Containerfile --build-arg VERSION=$(VERSION) $(addprefix --build-arg ,$(BASES)) -t $(IMAGE) ."; \
	for engine in docker podman; do if $$engine info >/dev/null 2>&1; then exec $$engine $$build; fi; done; \
	echo "no docker or podman runs here; with one: docker $$build"; \
	echo "for both architectures, into a registry: docker buildx build --platform linux/amd64,linux/arm64 --push -f deploy/Containerfile -t REGISTRY/$(IMAGE) ."

golden: tools/node_modules ## write the golden files (docs/config.md, metrics.md, conformance.md, openapi.yaml, drawings, dashboards, the React rules of clients/react) instead of comparing
	go test ./origin/api ./origin/svg ./mcp/react ./cmd/iconedge ./test/conformance ./test/faults ./test/metrics -update
	go run ./deploy/grafana
	go test -C tools/deploy -run "Copies|Readme" -update .

react: build clients/react/node_modules chromium ## the React package: build, lint, its tests in Node and a browser
	cd clients/react && ICONEDGE=$(CURDIR)/iconedge npm test

example-react: clients/react/node_modules ## a page of icons in React, from the service that make run serves
	cd clients/react && npm run example

help: ## list these words
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

library/node_modules: library/package-lock.json
	@echo "installing the icon library (@iconify/json, pinned by library/package-lock.json)"
	cd library && npm ci --no-progress && touch node_modules

clients/react/node_modules: clients/react/package-lock.json
	@echo "installing what the React package is built and tested with (pinned by its package-lock.json)"
	cd clients/react && npm ci --no-progress && touch node_modules

tools/node_modules: tools/package-lock.json
	@echo "installing what the tests take from npm (pinned by tools/package-lock.json)"
	cd tools && npm ci --no-progress && touch node_modules

tools/mcp/node_modules: tools/mcp/package-lock.json
	@echo "installing the MCP Inspector and suite, and the Node they want (pinned by tools/mcp/package-lock.json)"
	cd tools/mcp && npm ci --no-progress && touch node_modules

.cache/versitygw: # the version that the tests of stores take too (objectstore/storetest)
	@echo "building versitygw, an S3 server"
	GOBIN=$(CURDIR)/.cache go install github.com/versity/versitygw/cmd/versitygw@v1.8.0

.PHONY: .cache/loadtest
.cache/loadtest: # go decides whether it must be built again
	go build -C loadtest -trimpath -o $(CURDIR)/.cache/loadtest .

.PHONY: chromium
chromium: # the browser tests want one: from Debian's packages where there is none and we may
	@command -v chromium chromium-browser google-chrome >/dev/null || { echo "installing chromium (Debian package) for the browser tests"; \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null; \
	  elif [ -n "$$CI" ]; then echo "no chromium, and it can't be installed"; exit 1; else echo "it can't be installed here: the browser tests will be SKIPPED"; fi; }

.PHONY: engines
engines: # the tests of a fleet want a Redis and a Prometheus: from Debian's packages where there are none and we may
	@for e in redis-server prometheus; do command -v $$e >/dev/null || { echo "installing $$e (Debian package) for the tests of a fleet"; \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$e >/dev/null; \
	  elif [ -n "$$CI" ]; then echo "no $$e, and it can't be installed"; exit 1; else echo "it can't be installed here: tests that want it will be SKIPPED"; fi; } || exit 1; done
