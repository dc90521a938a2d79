# Two commands: `make demo` shows a running simulation in the browser, `make test` passes every test.
# Both install what is missing first; a second run rebuilds nothing.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build
.DELETE_ON_ERROR:

CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/visapult
PYTHON := $(CACHE)/python-$(shell cat tests/python/requirements*.txt | sha256sum | cut -c1-12)
# Tools that setup brought along (a newer cmake, cargo helpers) come first.
export PATH := $(CACHE)/tools/bin:$(CACHE)/cargo/bin:$(PATH)
export RUST_BACKTRACE ?= 0

BINARY := target/release/visapult
SOURCE ?= demo:wave?n=128
# What the Python package is made of: its own files, and the crates that copying and publishing need. Its stamp names their content, for other checkouts
# put theirs into the same virtual environment.
PYTHON_ROOMS := bindings/python $(addprefix crates/,copy objects publish ripp ripp-net trace volume volume-io) Cargo.toml Cargo.lock
PYTHON_PACKAGE := $(PYTHON)/package-$(shell find $(PYTHON_ROOMS) -type f -not -path '*/__pycache__/*' -print0 | sort -z | xargs -0 sha256sum | sha256sum | cut -c1-12)
PAGE_KERNELS := web/src/generated/page.ts
WEB_SOURCES := $(shell find web/src web/index.html web/public web/*.ts web/*.json -type f -not -path '$(PAGE_KERNELS)' 2>/dev/null)

.PHONY: build demo demo-wan test check test-rust test-web test-python test-e2e test-computing test-ready test-run programs python-package web simulate bench-exact bench-gpu bench-quality bench-proxies bench-page bench-start bench-live bench-transport bench-copy bench-transport-local bench-discriminate bench-fairness bench-publish bench-publish-python bench-flow soak clean setup-build setup-browser setup-gpu setup-mpi

## build: the release binary with the pages embedded
build: setup-build web/dist/index.html
	cargo build --release --locked --bin visapult

## demo: a running simulation in the browser; FOR=20s stops by itself, SOURCE=... shows something else
demo: build
	exec $(BINARY) view '$(SOURCE)' $(if $(FOR),--for $(FOR))

## demo-wan: a parallel simulation over 1 Gbit/s, 80 ms, 0.1 % loss into the browser (root); FOR=30s stops by itself, JSON=FILE says what it sustained, TRACE=FOLDER where the time went
demo-wan: build
	cargo build --release --locked --bin wan --lib
	tools/setup.sh mpi
	$(MAKE) -s -C examples/wave MPICC=$(or $(shell command -v mpicc.mpich),mpicc)
	$(if $(JSON),tools/setup.sh browser && $(MAKE) -s web/node_modules/.package-lock.json)
	exec python3 tools/demo_wan.py $(if $(FOR),--for $(FOR)) $(if $(JSON),--json $(JSON)) $(if $(TRACE),--trace $(TRACE))

## test: every test. Those that wait, for networks and then for browsers, go first; what computes takes what they leave of the processors. Each part tells when it is over;
## what fails is run once more and, if it then passes, told as unsteady
test:
	@tools/setup.sh packages build python browser
	$(MAKE) --jobs=3 test-ready
	$(MAKE) --jobs=2 --output-sync=recurse test-run

# What the tests that wait start from.
test-ready: programs python-package setup-gpu setup-mpi setup-browser

# Two at a time: browsers come when the first has ended, for a drawing browser leaves little to those that wait.
test-run: test-python test-computing test-e2e

# The tests in Rust are compiled here, too. Cargo works for one at a time, and has no other calls by now.
test-computing: programs python-package
	nice -n 10 $(MAKE) --jobs=1 test-rust test-web

## check: format, lints, types, documentation, arrows, features, licences of what is shipped, unused dependencies
check: setup-build web/dist/index.html $(PYTHON)/ready
	tools/setup.sh check
	cargo fmt --all --check
	cargo clippy --release --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc --release --locked --workspace --no-deps --document-private-items
	python3 tools/check_arrows.py
	python3 tools/check_features.py
	python3 tools/check_unused.py
	python3 tools/licences.py check
	cd web && npm run --silent lint && npm run --silent types
	cd tests/python && $(PYTHON)/bin/python -m mypy --ignore-missing-imports .
	web/node_modules/.bin/biome check --config-path=web/biome.json $$(git ls-files 'bench/*.mjs' 'tools/*.mjs' 'tests/*.mjs')

setup-build setup-browser setup-gpu setup-mpi:
	@tools/setup.sh $(@:setup-%=%)

web/node_modules/.package-lock.json: web/package.json web/package-lock.json
	cd web && npm install --no-save --no-fund --no-audit --loglevel=error
	touch $@

web/dist/index.html: web/node_modules/.package-lock.json $(WEB_SOURCES) $(PAGE_KERNELS) tools/licences.py
	cd web && npm run --silent build
	python3 tools/licences.py texts > web/dist/licenses.txt
	touch $@

web: web/dist/index.html

# What the page calculates in WebAssembly.
$(PAGE_KERNELS): $(shell find bindings/page -name '*.rs') bindings/page/Cargo.toml tools/embed_wasm.mjs | setup-build
	cargo build --locked --profile page --target wasm32-unknown-unknown -p visapult-page
	mkdir -p $(@D)
	node tools/embed_wasm.mjs target/wasm32-unknown-unknown/page/visapult_page.wasm > $@

# The Python package is built for an interpreter, and tested from it. No documentation has code that runs.
TEST_RUST := cargo test --release --locked --workspace --exclude visapult-python --lib --bins --tests
# What the tests in other languages start.
PROGRAMS := cargo build --release --locked --lib --bin visapult --bin wan --example exercise --example steered

programs: setup-build web/dist/index.html
	$(PROGRAMS)

test-rust: build setup-gpu
	RUSTC_WRAPPER=$(abspath tools/rustc_of_tests.sh) python3 tools/run_tests.py cargo $(TEST_RUST) --no-fail-fast

test-web: web/node_modules/.package-lock.json $(PAGE_KERNELS)
	cd web && npm test --silent

$(PYTHON)/ready: $(wildcard tests/python/requirements*.txt)
	tools/setup.sh python $(PYTHON)

## python-package: the package visapult, in the tests' virtual environment
python-package: $(PYTHON_PACKAGE)

$(PYTHON_PACKAGE): $(PYTHON)/ready | setup-build
	rm -f target/wheels/visapult-*.whl $(PYTHON)/package-*
	$(PYTHON)/bin/maturin build --quiet --release --locked --manifest-path bindings/python/Cargo.toml --interpreter $(PYTHON)/bin/python --out target/wheels
	$(PYTHON)/bin/python -m pip install --quiet --disable-pip-version-check --no-index --no-deps --force-reinstall target/wheels/visapult-*.whl
	touch $@

test-python: programs python-package setup-mpi setup-gpu
	VISAPULT=$(abspath $(BINARY)) WAN=$(abspath target/release/wan) EXERCISE=$(abspath target/release/examples/exercise) python3 tools/run_tests.py pytest $(PYTHON)/bin/python -m pytest -q -rfEs --durations=20 tests/python

test-e2e: programs web/node_modules/.package-lock.json setup-browser
	mkdir -p out/e2e
	VISAPULT=$(abspath $(BINARY)) STEERED=$(abspath target/release/examples/steered) python3 tools/run_tests.py node node --test --test-concurrency=1 tests/e2e/*.test.mjs

## simulate: the transport's core in a million seeded schedules of virtual time; SCHEDULES=10000, SEED=0
simulate:
	cargo run --release --locked -p visapult-testkit --bin simulate -- --schedules $(or $(SCHEDULES),1000000) --seed $(or $(SEED),0)

## bench-exact: exact images beside VTK
bench-exact: build $(PYTHON)/ready
	VISAPULT=$(abspath $(BINARY)) $(PYTHON)/bin/python bench/exact.py

## bench-gpu: images and keyframes on a graphics processor beside the processor; OPTIONS='--device software --edges 64' tries the kernels without one
bench-gpu: setup-build
	tools/setup.sh gpu
	cargo build --release --locked -p visapult-render --example devices
	python3 bench/gpu.py $(OPTIONS)

## bench-quality: how close proxies come to the exact image, by angle and bytes: six fields in ten subjects, each through two transfer functions, and pictures of what goes wrong (Debian: fetches a CT)
bench-quality: build $(PYTHON)/ready
	$(PYTHON)/bin/python bench/quality/run.py $(OPTIONS)
	VISAPULT=$(abspath $(BINARY)) $(PYTHON)/bin/python bench/quality/choice.py
	VISAPULT=$(abspath $(BINARY)) $(PYTHON)/bin/python bench/quality/artifacts.py

## bench-proxies: what proxies cost: making, combining, lost tiles, ten viewers, turning in the page, large fields, ParaView beside it (root; 5 GB of disk, 12 GB of memory)
bench-proxies: build $(PYTHON)/ready web/node_modules/.package-lock.json
	cargo build --release --locked --bin visapult --bin wan --lib
	tools/setup.sh mpi
	tools/setup.sh browser
	for bench in keyframes combining tile_loss viewers turning large beside_paraview; do \
		VISAPULT=$(abspath $(BINARY)) WAN=$(abspath target/release/wan) $(PYTHON)/bin/python bench/proxies/$$bench.py; \
	done

## bench-page: frames per second of the page beside vtk.js
bench-page: build
	tools/setup.sh browser
	cd bench/page && npm install --no-save --no-fund --no-audit --loglevel=error && VISAPULT=$(abspath $(BINARY)) npm run --silent bench

## bench-start: time from the command to the first image in the page
bench-start: build $(PYTHON)/ready web/node_modules/.package-lock.json
	tools/setup.sh browser
	VISAPULT=$(abspath $(BINARY)) PYTHON=$(PYTHON)/bin/python node bench/start.mjs

## bench-live: steps per second of the live wave in the page
bench-live: build web/node_modules/.package-lock.json
	tools/setup.sh browser
	VISAPULT=$(abspath $(BINARY)) node bench/live.mjs

## bench-transport: the transport beside TCP, GridFTP, UDT, SRT and QUIC over the testbed (root); OPTIONS='--quick --only ours,bbr'
bench-transport: build
	cargo build --release --locked --bin wan
	tools/setup.sh bench
	python3 bench/transport/run.py $(OPTIONS)

## bench-copy: files beside GridFTP, UDT, rsync, scp, rclone and xrdcp over the testbed (root; two hours, goes on where it was), then many small ones over loopback, what hashing costs,
## and from disk to disk; OPTIONS are for the first: OPTIONS='--runs 1 --losses 0 --only visapult,rsync --json /tmp/copy.json'
bench-copy: build
	cargo build --release --locked --bin wan
	tools/setup.sh bench
	VISAPULT=$(abspath $(BINARY)) python3 bench/copying/run.py $(OPTIONS)
	VISAPULT=$(abspath $(BINARY)) python3 bench/copying/many.py
	VISAPULT=$(abspath $(BINARY)) python3 bench/copying/hashing.py
	VISAPULT=$(abspath $(BINARY)) python3 bench/copying/disks.py

## bench-transport-local: the transport over loopback beside the bare loop, QUIC and TCP, over a pair of virtual interfaces (root), and how exactly it keeps a rate
bench-transport-local: build
	cargo build --release --locked --example bare_loop
	tools/setup.sh bench
	python3 bench/transport/local.py

## bench-discriminate: whether the transport says rightly what limits it, over a labelled matrix (root)
bench-discriminate: build
	cargo build --release --locked --bin wan
	tools/setup.sh bench
	python3 bench/transport/discriminate.py $(OPTIONS)

## bench-fairness: what a CUBIC flow keeps beside one of ours (root)
bench-fairness: build
	cargo build --release --locked --bin wan
	tools/setup.sh bench
	python3 bench/transport/fairness.py $(OPTIONS)

## bench-flow: what a flow makes of a lossy link, beside TCP with 1 and 4 connections; the first picture, overlap, placement, and what loss does to pictures (root)
bench-flow: build $(PYTHON)/ready web/node_modules/.package-lock.json
	cargo build --release --locked --bin visapult --bin wan --lib
	cargo build --release --locked --example loss --example overlap
	tools/setup.sh mpi
	tools/setup.sh bench
	tools/setup.sh browser
	python3 bench/flow/link_use.py
	python3 bench/flow/first_step.py
	python3 bench/flow/overlap.py
	python3 bench/flow/placement.py
	$(PYTHON)/bin/python bench/flow/loss.py

## soak: ranks, back end and pages through ten minutes of cut links, killed ranks and pages that do not read; memory must stay flat (root); FOR=1h JSON=FILE
soak: build web/node_modules/.package-lock.json
	cargo build --release --locked --bin visapult --bin wan --lib
	tools/setup.sh mpi
	tools/setup.sh browser
	$(MAKE) -s -C examples/wave MPICC=$(or $(shell command -v mpicc.mpich),mpicc)
	python3 tools/soak.py $(if $(FOR),--for $(FOR)) $(if $(JSON),--json $(JSON))

## bench-publish: what publishing costs a solver
bench-publish: build
	tools/setup.sh mpi
	cargo build --release --locked --lib
	python3 bench/publish/run.py $(OPTIONS)

## bench-publish-python: publishing from Python beside numpy's own copy
bench-publish-python: python-package
	$(PYTHON)/bin/python bench/publish_python.py

clean:
	rm -rf target web/dist web/node_modules out
