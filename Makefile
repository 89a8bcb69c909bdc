# koordlet: the commands that people and CI share. Everything is done by scripts/; this file only names it.
DURATION ?= 0
DEMO_FLAGS ?=

.PHONY: run build test asan tsan clang vmtest e2e bench fuzz format check clean

run: build-release
	@build/release/demo/koordlet-demo --koordlet build/release/koordlet --duration $(DURATION) $(DEMO_FLAGS)

build: build-release

build-release:
	@scripts/install-deps
	@scripts/build release koordlet koordlet-demo

test:
	@scripts/install-deps test
	@scripts/build dev
	@scripts/run-tests dev

asan:
	@scripts/install-deps test
	@scripts/build asan
	@scripts/run-tests asan

tsan:
	@scripts/install-deps test
	@scripts/build tsan
	@scripts/run-tests tsan

clang:
	@scripts/install-deps test
	@scripts/build clang

vmtest:
	@scripts/install-deps test vm
	@scripts/build release koordlet koordlet-demo live
	@test/vm/run-suite

e2e:
	@scripts/install-deps test e2e
	@scripts/build release koordlet
	@test/cluster/run-suite build/release/koordlet

bench:
	@scripts/install-deps test
	@scripts/build release bench_control_plane bench_kernel bench_collect bench_qos bench_store bench_cri_proxy bench_hooks
	@build/release/test/bench_control_plane
	@build/release/test/bench_kernel
	@build/release/test/bench_collect
	@build/release/test/bench_qos
	@build/release/test/bench_store
	@build/release/test/bench_cri_proxy
	@build/release/test/bench_hooks

fuzz:
	@scripts/install-deps test fuzz
	@scripts/build fuzz
	@scripts/fuzz

format:
	@git ls-files -z '*.cpp' '*.hpp' | xargs -0 clang-format-14 -i

check:
	@scripts/check-format
	@python3 test/check_includes.py build/dev --headers g++

clean:
	@rm -rf build
