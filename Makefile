# The two commands of the README, and the longer suites beside them. Everything here only calls CMake, CTest and scripts.

BUILD ?= build
JOBS ?= $(shell nproc)

.PHONY: all deps build demo test check-all clean

all: build

deps:
	@packaging/install-deps.sh

$(BUILD)/build.ninja: CMakeLists.txt CMakePresets.json | deps
	@cmake --preset default -B $(BUILD) >$(BUILD).configure.log 2>&1 || { cat $(BUILD).configure.log; rm -f $(BUILD).configure.log; exit 1; }
	@rm -f $(BUILD).configure.log

build: deps $(BUILD)/build.ninja
	@cmake --build $(BUILD) -j $(JOBS)

test: build
	@ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)

clean:
	@rm -rf $(BUILD) build-*
