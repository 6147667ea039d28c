# The two commands of the README, and the longer suites beside them. Everything here only calls CMake, CTest and scripts.

BUILD ?= build
JOBS ?= $(shell nproc)

.PHONY: all deps build demo test test-programs test-matrix test-tsan test-failures check-all check-format check-tidy check-sanitized bench-trace bench-record test-oracle test-replay bench-predict bench-recording fuzz clean

all: build

deps:
	@packaging/install-deps.sh

$(BUILD)/build.ninja: CMakeLists.txt CMakePresets.json | deps
	@cmake --preset default -B $(BUILD) >$(BUILD).configure.log 2>&1 || { cat $(BUILD).configure.log; rm -f $(BUILD).configure.log; exit 1; }
	@rm -f $(BUILD).configure.log

build: deps $(BUILD)/build.ninja
	@cmake --build $(BUILD) -j $(JOBS)

# Builds what users run, then checks a small bank with three mistakes; finding them is success.
demo: build
	@$(BUILD)/bin/deadheat check examples/bank.cc; code=$$?; [ $$code -eq 66 ] || { echo "demo: expected findings (exit code 66), got $$code"; exit 1; }

test: build
	@ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)

# The labelled programs, 20 of 20 runs each, at two levels, with and without the filter.
test-programs: build
	@tests/programs/run.py --build-dir $(BUILD) --runs 20 --opt=-O0,-O2
	@tests/programs/run.py --build-dir $(BUILD) --filter none

# Each optimisation of the pass off in turn, and all of them; every level of the compiler.
test-matrix: build
	@tests/programs/run.py --build-dir $(BUILD) --opt=-O0,-O1,-O2,-O3
	@tests/programs/run.py --build-dir $(BUILD) --pass-options matrix

# ThreadSanitizer's own tests, fetched from Debian's source package (165 MB, once).
test-tsan: build
	@tests/tsan/run.py --build-dir $(BUILD) --table docs/tsan-tests.md

# Crashes, kills, limits, a gigabyte of output, 100,000 threads.
test-failures: build
	@tests/failures/run.py --build-dir $(BUILD) --long

# Beside `make test`: formatting, clang-tidy, and our own tests under AddressSanitizer and UndefinedBehaviorSanitizer.
check-all: test check-format check-tidy check-sanitized

check-format: deps
	@git ls-files '*.cc' '*.h' '*.c' | grep -v -e '^tests/programs/' -e '^tests/replay/live/' | xargs clang-format-19 --dry-run --Werror && echo "format: clean"

check-tidy: build
	@git ls-files 'src/*.cc' | grep -v -e '_test\.cc$$' -e '/tests/' | xargs -P $(JOBS) -n 4 clang-tidy-19 -p $(BUILD) --quiet && echo "tidy: clean"

check-sanitized: deps
	@cmake --preset sanitized >/dev/null
	@cmake --build build-sanitized -j $(JOBS)
	@ctest --test-dir build-sanitized --output-on-failure -j $(JOBS) -LE end-to-end

# Events a second and peak memory of every linear detector; EVENTS=100000000 for the long form.
EVENTS ?= 10000000
bench-trace: deps $(BUILD)/build.ninja
	@cmake --build $(BUILD) --target bench_trace -j $(JOBS)
	@$(BUILD)/bin/bench_trace table events=$(EVENTS)

# Recording: its cost, the size of recordings, the time of replay.
bench-record: build
	@bench/record.py --build $(BUILD) $(BENCH)

# What the detectors find on replays of all labelled programs; then every one of them recorded and replayed at every level, RUNS times each, and the stress program with SEEDS seeds.
RUNS ?= 20
SEEDS ?= 1000
test-replay: build
	@tests/programs/run.py --build-dir $(BUILD) --lane record --opt=-O0,-O2
	@tests/replay/fidelity.py --build-dir $(BUILD) --runs $(RUNS) --opt=-O0,-O1,-O2,-O3
	@tests/replay/fidelity.py --build-dir $(BUILD) --stress $(SEEDS) --opt=-O0,-O1,-O2,-O3

# Whole Debian packages recorded at work, RUNS times each task, checked and replayed.
.PHONY: test-replay-projects
test-replay-projects: build
	@tests/replay/projects.py --build $(BUILD) --runs $(RUNS)

# Prediction against the exhaustive explorer, TRACES random traces of each shape; some minutes on one core.
TRACES ?= 10000
test-oracle: deps $(BUILD)/build.ninja
	@cmake --build $(BUILD) --target deadheat_oracle -j $(JOBS)
	@$(BUILD)/bin/deadheat_oracle $(TRACES)

# Time of mcm and rdit against the distance of the race, threads and locks.
bench-predict: deps $(BUILD)/build.ninja
	@cmake --build $(BUILD) --target bench_predict -j $(JOBS)
	@$(BUILD)/bin/bench_predict

# Bytes a second of writing and reading recordings, the writer's CPU; RECORDING=DIR takes its streams as material.
bench-recording: deps $(BUILD)/build.ninja
	@cmake --build $(BUILD) --target bench_recording -j $(JOBS)
	@$(BUILD)/bin/bench_recording $(RECORDING)

# Fuzzes the readers of traces and recordings, one after the other, SECONDS each; crashes are left in build-fuzz/.
SECONDS ?= 60
fuzz: deps
	@cmake --preset default -B build-fuzz -DDEADHEAT_FUZZ=ON >/dev/null
	@cmake --build build-fuzz --target fuzz_std fuzz_dht fuzz_recording -j $(JOBS)
	@for format in std dht recording; do \
	  mkdir -p build-fuzz/corpus-$$format && build-fuzz/bin/fuzz_$$format -max_total_time=$(SECONDS) -rss_limit_mb=2048 \
	    -artifact_prefix=build-fuzz/ build-fuzz/corpus-$$format tests/fuzz/corpus/$$format || exit 1; \
	done

clean:
	@rm -rf $(BUILD) build-*

.PHONY: bench test-projects test-build-systems
# Native, ThreadSanitizer and Deadheat side by side (docs/performance.md); BENCH="--rounds 3 sort" narrows it.
bench: build
	@bench/run.py --build $(BUILD) --json $(BUILD)/bench.json $(BENCH)

# One small project through CMake, Make, autotools, Meson and ccache.
test-build-systems: build
	@tests/build_systems/run.py --build-dir $(BUILD) --install

# Whole Debian packages through the wrappers, their findings compared with docs/field-notes.md.
test-projects: build
	@tests/projects/run.py --build $(BUILD)

.PHONY: test-monitor test-monitor-mutants test-monitor-misses test-monitor-stress bench-monitor bench-monitor-instructions soak
# The monitor lane: every labelled program in both orders, at two levels, with every kind of cap.
test-monitor: build
	@tests/monitor/programs.py --build-dir $(BUILD) --opt=-O0,-O2 --options cap=0,cap=1,cap=10,cap=10+random_cap=1

# Each rule of the monitor lane's static analysis broken once: a unit test must notice.
test-monitor-mutants: build
	@tests/monitor/mutants.py --build-dir $(BUILD)

# Which labelled races are missed, and why, from traces of their runs: docs/monitor-misses.md.
test-monitor-misses: build
	@tests/monitor/misses.py --build-dir $(BUILD) --table docs/monitor-misses.md

# Random programs without a race, FILES of 20 each, the first of them from SEED, at every sampling rate: not one report.
FILES ?= 100
SEED ?= 1
test-monitor-stress: build
	@tests/monitor/stress.py --build-dir $(BUILD) --files $(FILES) --seed $(SEED)

# memcached from Debian's sources, monitored within a budget beside a native one, under the same load (docs/field-notes.md).
MINUTES ?= 30
BUDGET ?= 5%
soak: build
	@bench/monitor/soak.py --build $(BUILD) --minutes $(MINUTES) --budget $(BUDGET) --out $(BUILD)/soak.json

# The same programs in instructions, counted by valgrind: what the closed gate costs, whatever else the machine does.
bench-monitor-instructions: build
	@bench/monitor/instructions.py --build $(BUILD) --json $(BUILD)/bench-monitor-instructions.json $(BENCH)

# Native, ThreadSanitizer, watch and the monitor lane's settings side by side (docs/monitor.md).
bench-monitor: build
	@bench/monitor/run.py --build $(BUILD) --json $(BUILD)/bench-monitor.json $(BENCH)
