# make help lists the targets. make run and make test install everything they need, in pinned versions.
SHELL := /bin/bash
DATA  ?=
FLAGS := $(if $(DATA),--data $(DATA))
FUZZ  ?= 10s
# The cases of the test suite of resvg, which make conformance draws.
RESVG ?= $(abspath $(wildcard ../shared/resvg-tests))

# Without paths in what the compiler writes, all clones of the repository share the build cache.
export GOFLAGS := -trimpath $(filter-out -trimpath,$(GOFLAGS))
# A program under the race detector sleeps for a second before it exits, so that the goroutines which
# are left may still meet. That second is most of the time of a small package's tests.
export GORACE := atexit_sleep_ms=100 $(GORACE)
# Measurements, and applications as their users see them, need Chromium itself and not its shell.
CHROMIUM := chromium chromium-browser google-chrome
WITH_CHROMIUM = ICONEDGE_BROWSER=$$(command -v $(CHROMIUM) | head -1)

.PHONY: run test build lint race fuzz bench bench-grow bench-http3 bench-quic bench-search lexicon bench-go fleet scale image dist golden site bench-site conformance security attacks faults apps differ react example-react example-iconify plugins plugins-test bench-plugins help
.DEFAULT_GOAL := help

run: build tools/library/node_modules ## publish the real library into a local folder, and serve it
	./iconedge publish $(if $(DATA),--store dir:$(DATA)/store) tools/library/node_modules/@iconify/json
	./iconedge run $(FLAGS)

# The parts of make test, each with what it needs. Two run at a time, as on two cores more of them
# would make each other late. The first ones need no packages of npm, which are installed beside them.
# The longest come before the short ones, so that both cores are busy to the end.
TEST_PARTS := lint-go test-race test-commands test-processes test-site test-edge-2 test-plain test-edge-3 test-modules test-edge-1 react test-clients lint-api

test: ## run every test: lint, unit and behaviour tests under the race detector, whole processes, a browser (CONTRIBUTING.md: what runs where)
	$(MAKE) --no-print-directory --jobs 2 --output-sync=target $(TEST_PARTS)

test-busy: ## run every test beside four busy loops, as on a busy machine: no test depends on how fast it runs
	test/busy.sh $(MAKE) --no-print-directory test

.PHONY: test-busy test-edge-1 test-edge-2 test-edge-3 test-race test-plain test-commands test-processes test-modules

# The tests of package edge take as long as those of all other packages. Processes of their own run
# them in three parts, by name, so that none gets near its time limit or needs much memory.
EDGE_1 := ^(Test|Fuzz)[A-H]
EDGE_2 := ^(Test|Fuzz)[I-R]
EDGE   := go test -race -short -vet=off -timeout 15m ./edge
test-edge-1: engines
	$(EDGE) -run '$(EDGE_1)'
test-edge-2: engines
	$(EDGE) -run '$(EDGE_2)'
test-edge-3: engines
	$(EDGE) -skip '$(EDGE_1)|$(EDGE_2)'

test-race: engines # the other packages whose code or tests start goroutines
	go test -race -short -vet=off -timeout 15m $$(test/packages.sh race | grep -vx ./edge)

test-plain: engines # the other packages, and the tests that test-race skips because sequential.Test is their first statement
	go test -short -vet=off -timeout 15m $$(test/packages.sh plain)
	@calls='sequential\.Test(t)'; names=$$(git grep -h -B1 "$$calls" -- '*_test.go' | sed -n 's/^func \(\w*\)(.*/\1/p' | paste -sd '|'); \
	packages=$$(git grep -l "$$calls" -- '*_test.go' | xargs dirname | sort -u | sed 's,^,./,'); \
	echo "go test -run '$$names'"; go test -vet=off -timeout 15m -run "^($$names)$$" $$packages

test-commands: tools/node_modules tools/iconify/node_modules browser engines # make race has these and test-processes under the race detector too
	go test -short -vet=off -timeout 15m ./cmd/...

test-processes: build tools/node_modules test/apps/node_modules browser engines
	ICONEDGE=$(CURDIR)/iconedge go test -vet=off -timeout 15m ./test/...
	ICONEDGE_LOOP=on go test -short -vet=off -timeout 15m -run '^Test(HostileClients|Refused|Pipelined|PipelineFlood)$$' ./edge # whose other tests have connections in memory, not on event loops
	ICONEDGE_LOOP=off go test -short -vet=off -timeout 15m -run '^TestRestarts$$' ./cmd/iconedge

test-modules: clients/node_modules engines
	cd clients && node build.mjs # tools packs what it builds
	go test -C loadtest -race -vet=off -timeout 15m ./...
	go test -C tools -count=1 ./... # they read files outside of their module, of which the test cache knows nothing
	go test -C tools/promql ./...
	go test -C tools/deploy -timeout 20m ./...

.PHONY: test-site
test-site: build site/node_modules clients/react/node_modules tools/iconify/node_modules browser # the contract of the site in a browser; the embedded files are those of their sources
	cd site && npm run --silent lint && node build.mjs --check && ICONEDGE=$(CURDIR)/iconedge npm test --silent

.PHONY: test-clients
test-clients: clients/node_modules # the plugins in TypeScript: types, lint, and the tables that the core in Go runs too
	cd clients && npm test --silent

site: site/node_modules ## build the script and the style sheet of the site into origin/site/assets
	cd site && npm run --silent lint && npm run --silent build

bench-site: build site/node_modules tools/library/node_modules chromium ## measure the site over the real library: from a key press to painted results, the largest paint, blocked time; writes docs/reference/site.md
	cd site && $(WITH_CHROMIUM) ICONEDGE=$(CURDIR)/iconedge LIBRARY=$(CURDIR)/tools/library/node_modules/@iconify/json npm run --silent bench

build: ## build the program
	go build -trimpath -o iconedge ./cmd/iconedge

# Licences that linked packages may have. They require users of the program only to keep the notice.
LICENSES := Apache-2.0,BSD-2-Clause,BSD-3-Clause,ISC,MIT
LICENCE_CHECK := --allowed_licenses=$(LICENSES) --logtostderr=false --stderrthreshold=2 --log_file=/dev/null

lint: lint-go lint-api ## check gofmt, vet, staticcheck, English (tools/prose), known vulnerabilities (with govulncheck), licences of linked packages, the OpenAPI document

.PHONY: lint-go lint-api
lint-go:
	@out=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$out" ] || { echo "gofmt: $$out"; exit 1; }
	go vet ./...
	go vet -C loadtest ./...
	go tool -modfile=tools/go.mod staticcheck ./...
	go tool -C loadtest -modfile=../tools/go.mod staticcheck ./...
	go tool -modfile=tools/go.mod go-licenses check ./cmd/iconedge $(LICENCE_CHECK)
	go tool -C loadtest -modfile=../tools/go.mod go-licenses check . --ignore github.com/iconedge/iconedge $(LICENCE_CHECK)
	@if command -v govulncheck >/dev/null; then for module in . loadtest; do govulncheck -C $$module ./... || [ $$? != 3 ] || exit 1; done; else echo "govulncheck is not installed: dependencies are NOT checked for known vulnerabilities"; fi
	go run -C tools ./prose ..

lint-api: tools/node_modules
	tools/node_modules/.bin/redocly lint --config tools/redocly.yaml docs/reference/openapi.yaml

race: ## run only the Go tests, all of them under the race detector, those of whole processes too
	go test -race -timeout 30m ./...
	go test -C loadtest -race ./...

fuzz: ## run every fuzz target for FUZZ (10s)
	@set -e; for module in . loadtest; do for pkg in $$(go list -C $$module ./...); do for f in $$(go test -C $$module -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	  echo "$$pkg $$f"; go test -C $$module $$pkg -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZ); done; done; done

bench: build .cache/loadtest tools/library/node_modules tools/iconify/node_modules bench-site ## measure an edge beside nginx, Varnish, HAProxy and bare fasthttp, over plain HTTP and TLS, and Iconify's icon data beside @iconify/api; writes docs/reference/performance.md and the lab book behind it
	.cache/loadtest bench --iconedge ./iconedge --rounds 3 --round 3s --install --docs docs/reference

bench-grow: build .cache/loadtest ## measure how the cost of an edge grows with entries, connections, cores and bodies
	.cache/loadtest grow --iconedge ./iconedge --docs docs/reference

bench-http3: build .cache/loadtest chromium ## measure new connections over TCP and QUIC, and pages over HTTP/2 and HTTP/3 in Chromium with delay and loss (root); writes the lab book (docs/reference/performance)
	.cache/loadtest handshakes --iconedge ./iconedge --docs docs/reference
	.cache/loadtest pages --iconedge ./iconedge --docs docs/reference

bench-quic: build .cache/loadtest ## measure the memory of connections over HTTP/3, before their handshake, at rest and in use, beside the smallest server on quic-go; and the processor time of 10,000 at rest
	.cache/loadtest quic --iconedge ./iconedge

fleet: build .cache/loadtest engines tools/library/node_modules .cache/versitygw ## run three regions, shield, origin, S3, Redis and Prometheus as local processes while parts of them fail; writes docs/reference/fleet.md (SHORT=1: a few seconds a phase, no page)
	go build -trimpath -ldflags '-X main.version=next' -o .cache/iconedge-next ./cmd/iconedge
	.cache/loadtest fleet --iconedge ./iconedge --next .cache/iconedge-next --s3 $(CURDIR)/.cache/versitygw --work .cache/fleet $(if $(SHORT),--short,--docs docs/reference)

scale: build .cache/loadtest engines tools/library/node_modules ## find the limits: EDGES (300) in ten regions with one Redis, ICONS (2,000,000), 400,000 entries in memory and 2,000,000 on disk, cores, hit ratios (TRACES=FILES besides the made-up ones); writes docs/reference/scale.md, in 40 minutes (SHORT=1: small ones, no page)
	.cache/loadtest money
	.cache/loadtest fleet --simulate $(or $(EDGES),300) $(if $(SHORT),--short,--docs docs/reference)
	.cache/loadtest cores --iconedge ./iconedge $(if $(SHORT),--rounds 1,--rounds 8 --docs docs/reference) --round 300ms
	.cache/loadtest entries --iconedge ./iconedge --disk=false --entries $(if $(SHORT),20000,400000 --docs docs/reference)
	.cache/loadtest entries --iconedge ./iconedge --memory=false --entries $(if $(SHORT),20000,2000000 --docs docs/reference)
	.cache/loadtest library --iconedge ./iconedge $(if $(SHORT),--icons 20000,--icons $(or $(ICONS),2000000) --docs docs/reference)
	.cache/loadtest ratio $(TRACES:%=--trace %) $(if $(SHORT),--requests 20000 --objects 5000,$(if $(TRACES),--docs docs/reference))

bench-search: tools/library/node_modules tools/library/lexicon/node_modules .cache/baseline.mod ## measure relevance and cost of search, beside SQLite and Bleve; writes docs/explain/search.md (QUERIES=FILE has the queries; PART=development asks no sealed ones and writes nothing)
	ICONEDGE_PART=$(PART) ICONEDGE_LIBRARY=$(CURDIR)/tools/library/node_modules/@iconify/json ICONEDGE_QUERIES=$(abspath $(or $(QUERIES),../shared/search/dev-queries.jsonl)) \
	  go test -modfile .cache/baseline.mod -overlay .cache/baseline.json -count=1 -v -timeout 30m -run TestRelevance ./origin/search

lexicon: tools/library/node_modules tools/library/lexicon/node_modules ## learn the meanings of words that the program embeds, from the packages that tools/library/lexicon/package.json pins (name their versions and licences in NOTICE)
	go run ./origin/search/lexicon/compile tools/library/lexicon/node_modules tools/library/node_modules/@iconify/json origin/search/lexicon/shipped.lex

bench-go: ## run the Go benchmarks of every package
	go test -run '^$$' -bench . -benchmem ./...
	go test -C loadtest -run '^$$' -bench . -benchmem ./...

conformance: build tools/library/node_modules tools/library/lexicon/node_modules tools/library/icons/node_modules tools/node_modules tools/mcp/node_modules tools/iconify/node_modules site/node_modules ## run the public cache suite against an edge and the installed caches, compare 2,500 answers with those of Iconify's own service, compare the whole library with Iconify's own renderer, and ten packages of icons with their files in Chromium, run the MCP Inspector and suite, h2spec, and crawl 2,000 pages of the site
	ICONEDGE_PEERS=1 ICONEDGE_MCP=$(CURDIR)/iconedge ICONEDGE_LIBRARY=$(CURDIR)/tools/library/node_modules/@iconify/json \
	  ICONEDGE_PACKAGES=$(CURDIR)/tools/library/icons/node_modules \
	  go test -p 1 -count=1 -v -timeout 30m -run TestConformance ./test/conformance ./cmd/iconedge
	ICONEDGE_RESVG=$(RESVG) ICONEDGE_LIBRARY=$(CURDIR)/tools/library/node_modules/@iconify/json \
	  go test -count=1 -v -timeout 30m -run 'TestLibrary' ./origin/... ./mcp/...
	go test -count=1 -v -run TestH2Spec ./edge
	cd site && ICONEDGE=$(CURDIR)/iconedge LIBRARY=$(CURDIR)/tools/library/node_modules/@iconify/json npm run --silent crawl

attacks: ## measure floods, slow clients and a stuck origin: their cost for the edge, and their effect on a well-behaved client
	ICONEDGE_ATTACKS=1 go test -count=1 -v -timeout 60m -run 'TestAttacks$$' ./test/attacks
	ICONEDGE_ATTACKS=1 go test -count=1 -v -timeout 30m ./test/quic
	ICONEDGE_HOARDS=all go test -count=1 -v -timeout 60m -run '^Test(Hoards|Crowds)$$' ./test/attacks

faults: ## measure the effect of failing origins, processes, stores and disks on clients, also of the installed proxies; writes docs/reference/faults.md
	ICONEDGE_PEERS=1 go test -count=1 -v -timeout 60m -run '^TestFaults$$' ./test/faults

apps: build applications chromium test/apps/node_modules test/apps/large/node_modules ## run real applications and their clients behind an edge, and compare what the clients see with and without it; writes docs/reference/applications.md (INSTALL=1 fails if one can't be installed)
	$(WITH_CHROMIUM) ICONEDGE=$(CURDIR)/iconedge ICONEDGE_APPS=1 $(if $(INSTALL),CI=1) go test -count=1 -v -timeout 60m ./test/apps

differ: build test/apps/node_modules ## send DIFFER (20000) generated requests to an Express application and through an edge, and compare the responses (SEED starts the generator)
	ICONEDGE=$(CURDIR)/iconedge ICONEDGE_DIFFER=$(or $(DIFFER),20000) ICONEDGE_SEED=$(SEED) go test -count=1 -v -timeout 30m -run TestDiffer ./test/apps

security: tools/node_modules browser ## run every attack of the tests; writes the table of docs/reference/security.md
	go test -json -timeout 30m ./internal/admin ./config/rules ./edge/... ./internal/glob ./internal/guesses ./origin/svg ./origin/token ./cmd/iconedge ./test/attacks ./test/faults ./test/quic | go run -C tools ./security ../docs/reference/security.md

VERSION ?= $(shell deploy/version.sh)
IMAGE   ?= iconedge:latest
BASES   ?=

image: ## build the program for amd64 and arm64 into dist/, and with docker or podman its container (IMAGE, VERSION, BASES)
	@set -e; for arch in amd64 arm64; do echo "dist/iconedge-linux-$$arch"; \
	  CGO_ENABLED=0 GOOS=linux GOARCH=$$arch go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o dist/iconedge-linux-$$arch ./cmd/iconedge; done
	@build="build -f deploy/Containerfile --build-arg VERSION=$(VERSION) $(addprefix --build-arg ,$(BASES)) -t $(IMAGE) ."; \
	for engine in docker podman; do if $$engine info >/dev/null 2>&1; then exec $$engine $$build; fi; done; \
	echo "neither docker nor podman runs here; with one of them: docker $$build"; \
	echo "to push both architectures to a registry: docker buildx build --platform linux/amd64,linux/arm64 --push -f deploy/Containerfile -t REGISTRY/$(IMAGE) ."

dist: ## build archives for Linux and macOS, deb and rpm, a bill of materials and checksums into dist/, reproducibly (VERSION; KEY signs the checksums)
	VERSION=$(VERSION) KEY=$(KEY) deploy/dist.sh

golden: tools/node_modules ## write the golden files (docs/reference/config.md, config-file.md, metrics.md, conformance.md, openapi.yaml, SVGs, dashboards, the React rules of clients/react) instead of comparing with them
	go test ./edge/frameworks ./config/rules ./origin/api ./origin/bag ./origin/svg ./icon/license ./icon/raster ./clients/go/react ./cmd/iconedge ./test/conformance ./test/faults ./test/metrics -update
	go run ./deploy/grafana
	go run -C tools ./chart ..
	go test -C tools/deploy -run "Copies|Readme" -update .

react: build clients/react/node_modules browser ## build, lint and test the React package, in Node and a browser
	cd clients/react && ICONEDGE=$(CURDIR)/iconedge npm test

example-react: clients/react/node_modules ## show a page of icons in React, from the service that make run starts
	cd clients/react && npm run example

example-iconify: tools/iconify/node_modules tools/node_modules ## show a page with three clients of Iconify, from the service that make run starts, at http://127.0.0.1:8090
	cd tools/iconify/example && ../../node_modules/.bin/esbuild example.jsx --bundle --outdir=. --servedir=. --serve=127.0.0.1:8090 --define:process.env.NODE_ENV='"production"'

plugins: clients/node_modules ## build the packages of the plugins into clients/plugins/dist/, reproducibly (VERSION)
	cd clients && VERSION=$(VERSION) node build.mjs
	go run -C tools ./plugins -version $(VERSION) ..
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o clients/plugins/dist/iconedge-client ./cmd/iconedge-client

bench-plugins: build plugins chromium ## measure the packages of the plugins and how long they take to start; writes docs/reference/plugins.md
	cd clients && ICONEDGE=$(CURDIR)/iconedge node measure.mjs

plugins-test: build tools/node_modules clients/node_modules ## run the plugins in their real hosts: VS Code's server, Chromium, Firefox, fzf, Neovim, rofi, a session bus, Inkscape, and those of Figma and Penpot in Chromium; SKIPPED where they are not installed
	@clients/vscode/host/install.sh
	@if command -v $(CHROMIUM) >/dev/null; then cd clients && ICONEDGE=$(CURDIR)/iconedge npm run --silent hosts; else echo 'SKIPPED: the extensions for browsers, VS Code, Figma and Penpot, because chromium is not installed'; fi
	@go test -count=1 -v -timeout 15m -run '^TestPlugin' ./cmd/iconedge | grep -v '^=== RUN'; exit $${PIPESTATUS[0]}

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

tools/library/node_modules: tools/library/package-lock.json
	@echo "installing the icon library (@iconify/json, pinned by tools/library/package-lock.json)"
	cd tools/library && npm ci --no-progress && touch node_modules

tools/library/lexicon/node_modules: tools/library/lexicon/package-lock.json
	@echo "installing the sources of the lexicon (pinned by tools/library/lexicon/package-lock.json)"
	cd tools/library/lexicon && npm ci --no-progress --ignore-scripts --omit=peer && touch node_modules

tools/library/icons/node_modules: tools/library/icons/package-lock.json
	@echo "installing packages of icons as their owners ship them (pinned by tools/library/icons/package-lock.json)"
	cd tools/library/icons && npm ci --no-progress --ignore-scripts && touch node_modules

clients/react/node_modules: clients/react/package-lock.json
	@echo "installing the tools of the React package (pinned by its package-lock.json)"
	cd clients/react && npm ci --no-progress && touch node_modules

clients/node_modules: clients/package-lock.json
	@echo "installing the tools of the plugins (pinned by clients/package-lock.json)"
	cd clients && npm ci --no-progress && touch node_modules

site/node_modules: site/package-lock.json
	@echo "installing the tools of the site (pinned by its package-lock.json)"
	cd site && npm ci --no-progress && touch node_modules

tools/node_modules: tools/package-lock.json
	@echo "installing the npm packages of the tests (pinned by tools/package-lock.json)"
	cd tools && npm ci --no-progress && touch node_modules

tools/iconify/node_modules: tools/iconify/package-lock.json
	@echo "installing Iconify's service and clients (pinned by tools/iconify/package-lock.json)"
	cd tools/iconify && npm ci --no-progress && touch node_modules

test/apps/node_modules: test/apps/package-lock.json
	@echo "installing the npm packages of the applications (pinned by test/apps/package-lock.json)"
	cd test/apps && npm ci --no-progress && touch node_modules

test/apps/large/node_modules: test/apps/large/package-lock.json
	@echo "installing Next.js and verdaccio for make apps (pinned by test/apps/large/package-lock.json)"
	cd test/apps/large && npm ci --no-progress && touch node_modules

tools/mcp/node_modules: tools/mcp/package-lock.json
	@echo "installing the MCP Inspector and suite, and the Node that they need (pinned by tools/mcp/package-lock.json)"
	cd tools/mcp && npm ci --no-progress && touch node_modules

.cache/versitygw: # in the same version as in the tests of stores (objectstore/storetest)
	@echo "building versitygw, an S3 server"
	GOBIN=$(CURDIR)/.cache go install github.com/versity/versitygw/cmd/versitygw@v1.8.0

.PHONY: .cache/loadtest
.cache/baseline.mod: go.mod go.sum # for make bench-search, with the engines that the product does not depend on
	@mkdir -p .cache && cp go.mod .cache/baseline.mod && cp go.sum .cache/baseline.sum
	@echo '{"Replace":{"origin/search/baseline_test.go":"origin/search/testdata/baseline_test.go"}}' >.cache/baseline.json
	go get -modfile .cache/baseline.mod github.com/blevesearch/bleve/v2@v2.6.3 modernc.org/sqlite@v1.61.1

.cache/loadtest: # go build decides whether to build it again
	go build -C loadtest -trimpath -o $(CURDIR)/.cache/loadtest .

# Debian packages, which test/debian.sh installs if the programs are missing and we are root.
.PHONY: browser chromium engines applications
browser: # for the browser tests: Chromium without windows, where Debian has it
	@programs='chromium-headless-shell|chromium|chromium-browser|google-chrome'; \
	if [ "$$(id -u)" = 0 ] && apt-cache show chromium-headless-shell >/dev/null 2>&1; then programs=chromium-headless-shell; fi; \
	test/debian.sh 'the browser tests' "$$programs:chromium-headless-shell"

chromium: # Chromium itself
	@test/debian.sh 'measurements in a browser' 'chromium|chromium-browser|google-chrome:chromium'

engines: # for the tests of a fleet, and of an edge behind and before HAProxy
	@test/debian.sh 'the tests of fleets and of HAProxy' redis-server:redis-server prometheus:prometheus haproxy:haproxy

applications: # for make apps
	@test/debian.sh 'the tests of applications' git:git nginx:nginx-light rclone:rclone skopeo:skopeo docker-registry:docker-registry \
	  litmus:litmus apache2:apache2-bin aria2c:aria2 wget:wget mariadbd:mariadb-server \
	  php:php8.2-cli,libapache2-mod-php8.2,php8.2-mysql,php8.2-xml,php8.2-mbstring,php-sabre-dav,wordpress,wordpress-theme-twentytwentythree
