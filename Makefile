# What a person or a CI types. Each target installs what it needs and this machine lacks (.ci/needs), then works;
# what it builds stays below .build/. `make help` lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

# After a crash the backtracer can hang for minutes; nothing here reads its output.
export SWIFT_BACKTRACE := enable=no

export JOBS ?= 2
PREFIX ?=
# What `make run` builds: debug or release.
BUILD ?= release
# For each of five readers, transcoding, and conversion.
FUZZ_SECONDS ?= 600
SOAK_SECONDS ?= 1800
# The adapters' programs that are built with the host, folders of Plugins/.
export PLUGINS := Notes
# A regular expression for the names of the tests that `make test` runs: unit tests as Target.Suite/test, end-to-end tests
# as module.Class.test. One that begins with test_ takes end-to-end tests alone.
export FILTER ?=
.PHONY: help npm screenshots pictures run test test-all build build-host stand-in check check-deploy bench shares instructions reloads kills kills-writes chaos-workers test-older-workers test-host worker-speed power-loss sync-model mutants coverage store-speed fuzz fuzz-requests simulate simulate-mirrors soak scan docs install package package-again package-test clean

help: ## this list
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' Makefile | expand -t 22

# Half of a release build is the optimizer: BUILD=debug is there sooner, and what it builds `make test` takes too. The gateway's
# program is porticoctl as well, where it is called by that name; `make build` puts the small program there instead.
run: need-build ## build release and serve the demo on http://127.0.0.1:8080, its console on :8081, its data in .portico/; BUILD=debug without the optimizer
	@$(if $(filter release,$(BUILD)),.ci/build-release portico,swift build -c $(BUILD) -j $(JOBS) --product portico)
	@ln -sfn portico .build/$(BUILD)/porticoctl
	@.ci/build-plugins $(BUILD) $(PLUGINS)
	@.ci/demo $(BUILD)

test: need-build need-quick ## unit tests and one end-to-end pass of every adapter; FILTER=EXPRESSION for some of all tests
	@.ci/test quick

test-all: need-build need-test .build/schema-venv/done .build/generators-venv/done .build/axe-venv/done .build/odata-venv/done .build/soap-venv/done .build/systems-venv/done .build/storage-venv/done ## every test of every package, every end-to-end test, the mass checks of .ci/test-drivers
	@.ci/test all

build: build-host ## release build; binaries in .build/release/, plugins in .build/release/plugins/
	@.ci/build-release porticoctl

stand-in: need-build ## the HR service of the documents, for release: .build/release/portico-stand-in
	@.ci/build-release portico-stand-in

# What serves, without the tests, drivers and demonstrations of the package.
build-host: need-build
	@.ci/build-release portico
	@.ci/build-plugins release $(PLUGINS)

check: need-build need-check check-deploy ## format, strictness, imports, arrows, texts, the generated reference; each check proved by sabotage
	@python3 -B Tests/Checks
	@.ci/reference
	@cd Tests/Checks/sabotage && python3 -B -m unittest discover --quiet

check-deploy: need-check
	@Deploy/verify

bench: need-formats need-servers build .build/bench-venv/done ## the gateway, the formats and the client against their peers; Benchmarks/RESULTS.md
	@.ci/build-release store-speed portico-stand-in
	@swift build -c release --package-path Benchmarks/Formats -j $(JOBS)
	@swift build -c release --package-path Benchmarks/Replica -j $(JOBS)
	@swift build -c release --package-path Benchmarks/NIOPeers -j $(JOBS)
	@Benchmarks/run

shares: build ## what one account that takes all it can get costs another, SECONDS (20) each, against the release build; for a quiet machine with two cores
	@python3 -B Benchmarks/Resilience/shares.py --seconds $(or $(SECONDS),20)

instructions: need-build need-test build-host ## instructions a byte of the wire formats and of requests of the release build, held against the recorded ones
	@Benchmarks/instructions.py
	@python3 -B Benchmarks/Gateway/request_instructions.py

reloads: need-build need-test ## RELOADS (300) configurations after each other in one gateway: descriptors, threads and memory stay level, ten minutes
	@PORTICO_RELOADS=$(or $(RELOADS),300) .ci/test-end-to-end --filter Level test_adapter_changes

fuzz: need-build ## a fuzzer for every reader, transcoding and conversion, FUZZ_SECONDS each; the corpora stay in .build/fuzz/
	@Sources/WireFormats/Drivers/Fuzz/fuzz.sh .build/fuzz $(FUZZ_SECONDS)

fuzz-requests: need-build need-test build ## damaged requests of every kind against the release build for SECONDS (7200): no end, no silence, no 500
	@PORTICO_BUILD=$(CURDIR)/.build/release nice -n 15 python3 -B Tests/RequestFuzzing --seconds $(or $(SECONDS),7200) $(if $(SEED),--seed $(SEED))

odata-sql: need-build need-test ## REQUESTS (10000) generated aggregations and expansions of OData against SQL, of SEED
	@PORTICO_ODATA_SQL=$(or $(REQUESTS),10000) PORTICO_ODATA_SQL_SEED=$(or $(SEED),4012) .ci/test-end-to-end test_odata_sql

odata-upstream: need-build need-test ## REQUESTS (5000) generated queries of mirrored and called OData services of both versions against SQL, of SEED
	@PORTICO_ODATA_UPSTREAM=$(or $(REQUESTS),5000) PORTICO_ODATA_UPSTREAM_SEED=$(or $(SEED),41) .ci/test-end-to-end test_odata_upstream_sql

soak: need-build need-test simulate simulate-mirrors kills ## long fault tests: half an hour of mixed load, kills of store and gateway, sync and mirrors simulated
	@PORTICO_KILLS=100 PORTICO_SOAK=$(SOAK_SECONDS) .ci/test-end-to-end test_crash test_mirror_writes test_soak

# SEEDS of 200 operations each, in JOBS processes; a failing one is shown by --seed. After SIMULATE_SECONDS no further seed
# is begun; the number of seeds is printed.
SEEDS ?= 100000
SIMULATE_SECONDS ?= 3600
simulate: need-build ## SEEDS runs of devices, network and server with faults of every kind: no promise may break
	@.ci/build-release sync-simulator
	@.ci/simulate .build/release/sync-simulator $(SEEDS) $(SIMULATE_SECONDS) $(JOBS)

MIRROR_SEEDS ?= 20000
simulate-mirrors: need-build ## MIRROR_SEEDS runs of another system, a mirror of it and devices, with faults of every kind: no promise may break
	@.ci/build-release mirror-simulator
	@.ci/simulate .build/release/mirror-simulator $(MIRROR_SEEDS) $(SIMULATE_SECONDS) $(JOBS)

kills: need-build ## the store, killed a hundred times while it writes: nothing acknowledged may be lost
	@swift build --product store-kill-driver -j $(JOBS)
	@.build/debug/store-kill-driver --rounds 100

kills-writes: need-build need-test ## KILLS (1000) of the gateway with pending writes of mirrors: none lost, none made twice
	@PORTICO_KILLS=$(or $(KILLS),1000) .ci/test-end-to-end test_mirror_writes

chaos-workers: need-build need-test build-host ## FAULTS (1000) of a hostile adapter's program in a gateway under load: what the others notice, and when it answers again; half an hour
	@python3 -B Benchmarks/Workers/chaos.py --faults $(or $(FAULTS),1000)

# REVISION: a commit of this repository, by default the first that had programs of adapters.
test-older-workers: need-build need-test ## programs of adapters as they were built at REVISION, in a gateway of today
	@.ci/test-older-workers $(REVISION)

worker-speed: need-build need-test build-host ## what a call costs in the process and as a program of its own, alone and as a request over HTTP, in microseconds of processor time; three minutes
	@.ci/build-release worker-speed
	@.build/release/worker-speed
	@swift build -c release --package-path Benchmarks/Workers/Speed -j $(JOBS)
	@python3 -B Benchmarks/Workers/speed.py

test-host: need-build need-test ## a gateway's program in a folder apart, with Notes compiled in: a build of everything
	@swift build --product porticoctl -j $(JOBS)
	@.ci/test-host

lost-machine: need-build need-test .build/storage-venv/done ## ROUNDS (50) machines lost under write load, restored from a folder and from moto's S3; half a minute each
	@LOST_MACHINE_ROUNDS=$(or $(ROUNDS),50) python3 -B Tests/EndToEnd --filter 'LostMachines' test_backups
	@LOST_MACHINE_ROUNDS=$(or $(ROUNDS),50) .build/storage-venv/bin/python -B -m unittest discover -s Tests/ObjectStorage -k lost

power-loss: need-build ## the store against power loss, full and failing disks, on images rebuilt from recorded writes
	@.ci/build-release store-kill-driver
	@python3 -B Tests/PowerLoss .build/release/store-kill-driver --images 2000

mutants: need-build ## MODULE's own tests against COUNT (50) mutants of it, chosen by SEED (1); 85 % of those that change behaviour must be caught
	@python3 -B Tests/Mutants $(MODULE) --count $(or $(COUNT),50) --seed $(or $(SEED),1)

coverage: need-build ## line and region coverage of every module by the unit tests, in a build of its own
	@.ci/build-plugins debug $(PLUGINS)
	@.ci/coverage

sync-model: need-model ## every state of a model of outbox, cursor and compaction; minutes
	@Tests/SyncModel/check.sh

store-speed: need-build ## what a call of the store costs, in microseconds of processor time
	@.ci/build-release store-speed
	@.build/release/store-speed

scan: need-scan .build/scan-venv/done ## sslyze, testssl.sh and HTTP/2 abuse through h2 against the debug build, slowhttptest against the release build
	@.build/scan-venv/bin/python -B -m unittest discover -s Tests/Scanners
	@python3 -B Benchmarks/Resilience/resilience.py slow

docs: need-build build ## the reference of the public packages, as web pages in .build/docs/, and the manual pages
	@.ci/build-docs
	@.ci/manual-pages .build/release .build/docs/man1

install: need-install build ## PREFIX=… gets bin/ lib/ plugins/ share/ that run without the toolchain's folder
	@test -n "$(PREFIX)" || { echo "say where: make install PREFIX=/opt/portico" >&2; exit 1; }
	@Deploy/install-tree "$(PREFIX)"

npm: need-npm ## the JavaScript client as one file with its types, an npm package directory in .build/npm/
	@.ci/npm

pictures: need-test ## a picture of every view of the pages and the console, of the debug build, in .build/pictures/; ONLY=EXPRESSION for some
	@python3 -B Tests/Pictures --only '$(ONLY)'

screenshots: need-test ## the pictures of the README, docs/images/, from the debug build
	@.ci/screenshots
package: need-build need-install need-package ## .deb, tarball, image, symbols, SPDX list and SHA256SUMS of the commit that is checked out, in .build/packages/; the same bytes from every path
	@JOBS=$(JOBS) Deploy/package .build/packages

package-again: package ## the packages of the same commit, from another clone and from nothing; fails where a byte differs
	@Deploy/package-again .build/packages

# As root, because it installs packages in roots of Debian of its own. OLDER: a .deb to upgrade from.
package-test: need-build need-package-test ## what make package wrote, on bare Debian 12 and 13: installed, served, upgraded, removed, by the commands of the documents
	@python3 -B Tests/Packages .build/packages $(OLDER)

clean: ## remove what was built
	rm -rf .build Benchmarks/*/.build Sources/*/.build Plugins/*/.build

.build/bench-venv/done: Benchmarks/Gateway/fastapi_peer/requirements.txt
	@.ci/venv .build/bench-venv $<

.build/schema-venv/done: Tests/Description/requirements.txt
	@.ci/venv .build/schema-venv $<

.build/scan-venv/done: Tests/Scanners/requirements.txt
	@.ci/venv .build/scan-venv $<

.build/generators-venv/done: Tests/Generators/requirements.txt
	@.ci/venv .build/generators-venv $<

.build/axe-venv/done: Tests/Accessibility/requirements.txt
	@.ci/venv .build/axe-venv $<

.build/odata-venv/done: Tests/OData/requirements.txt
	@.ci/venv .build/odata-venv $<

.build/soap-venv/done: Tests/SOAP/requirements.txt
	@.ci/venv .build/soap-venv $<

.build/storage-venv/done: Tests/ObjectStorage/requirements.txt
	@.ci/venv .build/storage-venv $<

.build/systems-venv/done: Tests/Systems/requirements.txt
	@.ci/venv .build/systems-venv $<

need-%:
	@.ci/need $*
