# Set-up, tests and formatting in one place. Needs Python >= 3.10 with pip, a C++20 compiler and make;
# everything else (CMake, Ninja, oneDNN, ...) is installed by pip into $(VENV).
#
# There is one CMake build tree, $(BUILD): the tests and the package in $(VENV) share its object files.

PYTHON ?= python3
VENV ?= .venv
BUILD ?= build
PRESET ?= release
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PYTEST_ARGS ?= -m "not install and not long"

BIN := $(VENV)/bin
CMAKE := $(BIN)/cmake
COMPILE := $(BIN)/python tools/compile.py $(CMAKE)
CXX_FOLDERS := include src python/amp/csrc tests/cpp tests/mpi tests/fuzz benchmarks examples tools
CXX_FILES = $(shell find $(CXX_FOLDERS) -name '*.cc' -o -name '*.h' 2>/dev/null)
PY_FOLDERS := $(wildcard python tests tools examples benchmarks cmake docs/*.py)

# Lets another environment see what is installed in $(VENV).
define see-package
	@$(BIN)/python -c 'import sysconfig; print("import site; site.addsitedir(%r)" % sysconfig.get_path("platlib"))' \
	  > "$$($(1)/bin/python -c 'import sysconfig; print(sysconfig.get_path("platlib"))')/nnvm_amp.pth"
endef

define say
	@printf '\n==> %s\n' $(1)
endef

.PHONY: help demo clients mxnet-tests test test-cpp test-python test-long test-ray asan fuzz bench bench-zoo bench-convert ring-report alternate-report trust-report serving-report exhaustive-cast programs against-mxnet docs wheel format lint clean build package tests

help:
	@echo "make demo         set up, build and show the conversion of a real model"
	@echo "make test         all tests, C++ and Python"
	@echo "make test-cpp     the C++ tests            (CTEST_ARGS='-R passes' for some of them)"
	@echo "make test-python  the Python tests without those of the installation (PYTEST_ARGS='-k loader': some)"
	@echo "make test-long    the Python tests that make test leaves out: large networks on other machines than this one"
	@echo "make test-ray     the examples of Ray on a cluster of this machine (installs Ray: 676 MB on the first time)"
	@echo "make asan         all tests under AddressSanitizer and UndefinedBehaviorSanitizer"
	@echo "make fuzz         libFuzzer on everything that reads files (FUZZ_SECONDS=600 for each of four targets)"
	@echo "make bench        time against OpenVINO, ONNX Runtime, torch and MXNet (BENCH_ARGS='--quick': a look; --help)"
	@echo "make bench-zoo    a folder of networks (AMP_SHARED) against MXNet (MXNET_PYTHON) and OpenVINO (BENCH_ARGS='--cases ssd')"
	@echo "make bench-convert    time and memory of converting a chain of 1,000,000 nodes (NODES=100000 for another length)"
	@echo "make clients      libraries for MXNet on this package (CLIENT_SOURCES=folder: their tests, too; docs/clients.md)"
	@echo "make mxnet-tests  MXNet's own tests (MXNET_SOURCE=folder of their sources; docs/mxnet.md)"
	@echo "make ring-report  mismatches, errors, bits, bytes and memory of ring attention (RING_ARGS='--heads 2')"
	@echo "make trust-report  what must hold of comparisons, sensitivities and bounds (TRUST_ARGS='--only compare')"
	@echo "make serving-report  plans, memory, pools and services, beside other engines (SERVING_ARGS='--only memory')"
	@echo "make alternate-report  small numbers in products, gradients and training, and what keeping them costs"
	@echo "make programs     random Gluon programs by all routes (PROGRAMS=500 of each generation, FIRST=0: the first seed)"
	@echo "make against-mxnet  the same programs beside MXNet's wheels 1.9.1 and 2.0.0b1, which it installs"
	@echo "make exhaustive-cast  casts offline and at run time compared over all 2^32 floats; some minutes"
	@echo "make docs         the site of the documentation, in build-docs/html"
	@echo "make wheel        manylinux wheels in dist/, tried in empty environments (PYTHONS='python3.11 ...': some versions)"
	@echo "make lint         check the formatting; 'make format' corrects it"
	@echo "make clean        remove what these commands made"
	@echo
	@echo "PYTHON=/path/to/python3 chooses the interpreter for a new $(VENV)."

demo: package
	$(call say,"Running the demo")
	@$(BIN)/amp demo

test:
	@$(MAKE) --no-print-directory test-cpp
	@$(MAKE) --no-print-directory test-python PYTEST_ARGS=

test-cpp: tests
	$(call say,"C++ tests")
	@cd $(BUILD) && "$(CURDIR)/$(BIN)/ctest" --output-on-failure --no-tests=error -j $(JOBS) $(CTEST_ARGS)
	@awk '/: Skipped$$/ { getline reason; ++count[reason] } \
	  END { for (reason in count) printf "%d skipped: %s\n", count[reason], reason }' $(BUILD)/Testing/Temporary/LastTest.log

test-python: package $(VENV)/.dev-installed
	$(call say,"Python tests")
	@$(PYTEST_ENV) $(BIN)/python -m pytest -n $(JOBS) --dist loadfile $(PYTEST_ARGS)

test-long:
	@$(MAKE) --no-print-directory test-python PYTEST_ARGS="-m long"

# The same two steps on trees of their own. Python itself is not instrumented: the sanitizer's run time has to be
# loaded before it, and leaks are looked for in the C++ tests only. What is too large for malloc
# is no reason to end the process (allocator_may_return_null). --capture=sys leaves the sanitizer's own report
# on the screen.
asan: ASAN := VENV=.venv-asan BUILD=build-asan PRESET=asan
asan:
	@$(MAKE) --no-print-directory $(ASAN) test-cpp
	@$(MAKE) --no-print-directory $(ASAN) test-python PYTEST_ENV="env \
	  LD_PRELOAD='$$(ldd build-asan/libnnvm_amp.so | awk '/libasan|libubsan|libstdc/ {printf "%s ", $$3}')' \
	  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 PYTHONMALLOC=malloc PYTEST_ADDOPTS=--capture=sys"

# Ray lives in an environment of its own, which also sees the package in $(VENV).
RAY_VENV ?= .venv-ray
test-ray: package $(RAY_VENV)/.installed
	$(call say,"Running the examples of Ray")
	@$(RAY_VENV)/bin/python -m pytest -q tests/python/serving/test_ray.py

# libFuzzer targets, one after the other: `make fuzz FUZZ_SECONDS=60 FUZZ_TARGETS=params`. Needs clang. What they learn
# stays in $(FUZZ_BUILD)/found; a finding is written to $(FUZZ_BUILD)/<target>-crash-... and ends the run.
FUZZ_BUILD ?= build-fuzz
FUZZ_CXX ?= clang++
FUZZ_SECONDS ?= 600
FUZZ_TARGETS ?= symbol_json params npz attr_text
FUZZ_LIMITS = -timeout=20 -rss_limit_mb=2048 -malloc_limit_mb=256 -max_len=65536
fuzz: $(VENV)/.dev-installed
	$(call say,"Compiling the fuzz targets")
	@$(CMAKE) -S tests/fuzz -B $(FUZZ_BUILD) -G Ninja -DCMAKE_MAKE_PROGRAM="$(CURDIR)/$(BIN)/ninja" \
	  -DCMAKE_CXX_COMPILER=$(FUZZ_CXX) -DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python" >/dev/null
	@$(CMAKE) --build $(FUZZ_BUILD) -j $(JOBS)
	@$(BIN)/python tests/fuzz/make_corpus.py $(FUZZ_BUILD)/corpus
	@for target in $(FUZZ_TARGETS); do \
	  printf '\n==> Fuzzing %s for %s seconds\n' $$target $(FUZZ_SECONDS); \
	  mkdir -p $(FUZZ_BUILD)/found/$$target; \
	  $(FUZZ_BUILD)/fuzz_$$target $(FUZZ_LIMITS) -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 -verbosity=0 \
	    -artifact_prefix=$(FUZZ_BUILD)/$$target- $(FUZZ_BUILD)/found/$$target $(FUZZ_BUILD)/corpus/$$target || exit 1; \
	done

# Other engines on the same networks, for about two hours. They live in an environment of their own, which also sees
# the package in $(VENV). MXNET_PYTHON=/path/to/python with MXNet 1.9.1 adds MXNet.
BENCH_VENV ?= .venv-bench
BENCH_ARGS ?=
bench: package $(BENCH_VENV)/.installed
	$(call say,"Compiling the machine probe")
	@$(CMAKE) --build $(BUILD) --target machine_probe
	$(call say,"Measuring; wants a machine that does nothing else")
	@$(BENCH_VENV)/bin/python -m benchmarks.compare $(BENCH_ARGS)

# The shared networks against MXNet 1.9.1 (MXNET_PYTHON) and OpenVINO.
bench-zoo: package $(BENCH_VENV)/.installed
	$(call say,"Measuring; wants a machine that does nothing else")
	@$(BENCH_VENV)/bin/python -m benchmarks.zoo $(BENCH_ARGS)

# Libraries for MXNet on this package: they are imported, their tests run where CLIENT_SOURCES names a folder of source
# trees, and small programs. The rows of docs/clients.md are written anew. Wants Python 3.11 in $(VENV).
CLIENT_VENV ?= .venv-clients
CLIENT_SOURCES ?=
CLIENT_ARGS ?=
clients: package
	$(call say,"Running libraries for MXNet")
	@$(BIN)/python tools/clients/run.py $(CLIENT_VENV) $(BUILD) --sources "$(CLIENT_SOURCES)" --page docs/clients.md $(CLIENT_ARGS)

# MXNet's own tests, of 1.9.1 and of master, on this package; MXNET_SOURCE is a folder with both. Wants Python 3.11 in
# $(VENV). MXNET_ARGS="--version master --sample 5": some of them.
MXNET_TESTS_VENV ?= .venv-mxnet-tests
MXNET_SOURCE ?=
MXNET_ARGS ?=
mxnet-tests: package
	$(call say,"Running MXNet's own tests")
	@test -n "$(MXNET_SOURCE)" || { echo "MXNET_SOURCE=folder is missing; docs/mxnet.md says what it holds"; exit 2; }
	@$(BIN)/python tools/mxnet_tests/run.py $(MXNET_TESTS_VENV) $(BUILD) "$(MXNET_SOURCE)" --page docs/mxnet.md $(MXNET_ARGS)

# All that ring attention has to show, with figures; some minutes. RING_ARGS='--heads 2' is shorter.
RING_ARGS ?=
ring-report: package $(VENV)/.dev-installed
	$(call say,"Ring attention on eight ranks")
	@env -u OMP_NUM_THREADS $(BIN)/python tools/ring_report.py $(RING_ARGS)

# Random Gluon programs: all routes against each other (PROGRAMS of each generation), and against MXNet's two wheels.
PROGRAMS ?= 500
FIRST ?= 0
programs: package $(VENV)/.dev-installed
	@for generation in 1 2; do AMP_MACHINE=avx2 $(BIN)/python -W ignore tests/python/mxnet/gluon/gluon_programs.py \
	  --generation $$generation --count $(PROGRAMS) --first $(FIRST) || exit 1; done

against-mxnet: package $(VENV)/.dev-installed .venv-mxnet-1.9.1/.installed .venv-mxnet-2.0.0b1/.installed
	@for each in 1:1.9.1 2:2.0.0b1; do $(BIN)/python -W ignore tests/python/mxnet/gluon/gluon_programs.py \
	  --generation $${each%%:*} --against .venv-mxnet-$${each##*:}/bin/python --count $(PROGRAMS) --first $(FIRST) \
	  || exit 1; done

.venv-mxnet-%/.installed: | $(VENV)/.created
	$(call say,"Installing MXNet $*")
	@$(BIN)/python -m venv .venv-mxnet-$*
	@.venv-mxnet-$*/bin/python -m pip install --disable-pip-version-check --quiet mxnet==$* numpy==1.23.5
	@touch $@

# What must hold of comparisons, sensitivities and bounds. One part: make trust-report TRUST_ARGS='--only compare'.
TRUST_ARGS ?=
trust-report: package
	@$(BIN)/python tools/trust_report.py $(TRUST_ARGS)

# What must hold of plans, memory, pools and services, and starts beside OpenVINO and ONNX Runtime.
SERVING_ARGS ?= --peers $(BENCH_VENV)
serving-report: package $(VENV)/.dev-installed $(BENCH_VENV)/.installed
	@$(BIN)/python tools/serving_report.py $(SERVING_ARGS)

# What becomes of small numbers, for the CPU and for two instruction sets without bfloat16. Times want a machine that
# does nothing else.
ALTERNATE_ARGS ?=
alternate-report: package $(VENV)/.dev-installed
	@$(BIN)/python -m benchmarks.alternate_report $(ALTERNATE_ARGS)
	@ONEDNN_MAX_CPU_ISA=AVX512_CORE $(BIN)/python -m benchmarks.alternate_report --no-times
	@ONEDNN_MAX_CPU_ISA=AVX2 $(BIN)/python -m benchmarks.alternate_report --no-times

# Wants a machine that does nothing else.
NODES ?= 1000000
bench-convert: $(BUILD)/build.ninja
	$(call say,"Compiling the benchmark")
	@$(CMAKE) --build $(BUILD) --target convert_chain -j $(JOBS)
	@$(BUILD)/benchmarks/convert_chain $(NODES)

# First the kernels against the definition of rounding, then the ways on which a cast reaches them against each other.
exhaustive-cast: $(BUILD)/build.ninja
	$(call say,"Compiling the comparison of casts")
	@$(CMAKE) --build $(BUILD) --target exhaustive_cast exhaustive_cast_paths -j $(JOBS)
	@$(BUILD)/tools/exhaustive_cast
	@$(BUILD)/tools/exhaustive_cast_paths

# Dead links and unresolved references are errors. Pages of the API are written anew; Sphinx builds what has changed.
# DOCS_BUILDER=dummy writes no pages, which is most of the work, and finds the same errors.
DOCS := build-docs
DOCS_BUILDER ?= html
docs: package $(VENV)/.docs-installed
	$(call say,"Building the documentation")
	@$(BIN)/sphinx-build -b $(DOCS_BUILDER) -n -W --keep-going -q -j auto -d $(DOCS)/doctrees docs $(DOCS)/$(DOCS_BUILDER)
	@if [ $(DOCS_BUILDER) = html ]; then echo "$(DOCS)/html/index.html"; fi

# One wheel for each Python from 3.10 to 3.14 that is found, or for those in PYTHONS.
# ONEDNN_SOURCE=folder compiles oneDNN from its sources, once, for them; without it they get the package index's 3.2.
PYTHONS ?=
DIST ?= dist
ONEDNN_SOURCE ?=
ONEDNN_BUILD ?= build-onednn
wheel: export CMAKE_BUILD_PARALLEL_LEVEL = $(JOBS)
wheel: $(VENV)/.wheel-installed
	@if [ -n "$(ONEDNN_SOURCE)" ]; then $(BIN)/python tools/build_onednn.py "$(ONEDNN_SOURCE)" $(ONEDNN_BUILD); fi
	@$(BIN)/python tools/make_wheels.py $(if $(ONEDNN_SOURCE),--onednn $(ONEDNN_BUILD)/prefix) $(DIST) $(PYTHONS)

format: $(VENV)/.dev-installed
	@$(BIN)/clang-format -i $(CXX_FILES)
	@$(BIN)/ruff check --fix $(PY_FOLDERS)
	@$(BIN)/ruff format $(PY_FOLDERS)

lint: $(VENV)/.dev-installed
	$(call say,"Checking the formatting")
	@$(BIN)/clang-format --dry-run -Werror $(CXX_FILES)
	@$(BIN)/ruff check $(PY_FOLDERS)
	@$(BIN)/ruff format --check $(PY_FOLDERS)

clean:
	rm -rf build build-debug build-asan build-fuzz build-docs build-wheel .venv .venv-asan .venv-bench .venv-mxnet-* .pytest_cache .ruff_cache

# ---- the steps below are shared; each does nothing when its result is up to date ----

# The package in $(VENV): Python files are read from python/amp, the libraries are copied from the build tree. The
# installation says where each module is, so another set of modules is installed anew: the set is part of the name.
PACKAGE_INSTALLED := $(VENV)/.package-installed-$(shell find python -name '*.py' | sort | cksum | cut -d' ' -f1)

# Editors and type checkers look for the stubs beside the sources. Git does not keep them, and wheels take the build's.
STUBS := stubs/sym/__init__.pyi

package: build $(PACKAGE_INSTALLED)
	@$(CMAKE) --install $(BUILD) --component python \
	  --prefix "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("platlib"))')" >/dev/null
	@if [ -f $(BUILD)/$(STUBS) ]; then cp -u $(BUILD)/$(STUBS) python/amp/sym/; fi
	@$(BIN)/python -m compileall -q python/amp  # imports do not where PYTHONDONTWRITEBYTECODE is set: twice as slow

build: $(BUILD)/build.ninja
	$(call say,"Compiling the library and the Python extension")
	@$(COMPILE) $(BUILD) --target amp_python -j $(JOBS)

tests: $(BUILD)/.tests-configured
	$(call say,"Compiling the library and the C++ tests")
	@$(COMPILE) $(BUILD) -j $(JOBS)

# The presets generate for Ninja, which has to be the one in $(VENV). The cache is not kept: it may speak of another
# $(VENV); object files are, as long as the commands that made them stay the same.
CONFIGURE = rm -f $(BUILD)/CMakeCache.txt && $(CMAKE) --preset $(PRESET) \
  -DCMAKE_MAKE_PROGRAM="$(CURDIR)/$(BIN)/ninja" -DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python" $(CMAKE_ARGS)

# `make demo` needs no GoogleTest. Ninja itself configures again when a CMake file changes.
$(BUILD)/build.ninja: $(VENV)/.created | $(VENV)/.build-installed
	$(call say,"Configuring the build in $(BUILD)")
	@$(CONFIGURE) -DAMP_BUILD_TESTS=OFF

$(BUILD)/.tests-configured: $(VENV)/.created | $(VENV)/.build-installed
	$(call say,"Configuring the build in $(BUILD) with the C++ tests")
	@$(CONFIGURE) -DAMP_BUILD_TESTS=ON
	@touch $@

# The build tree is given to pip, which finds everything compiled.
$(PACKAGE_INSTALLED): pyproject.toml | build
	$(call say,"Installing the package into $(VENV)")
	@$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-build-isolation --no-deps \
	  --config-settings=build-dir=$(BUILD) --config-settings=cmake.define.AMP_BUNDLE_ONEDNN=OFF \
	  --config-settings=cmake.build-type=$$(sed -n 's/^CMAKE_BUILD_TYPE:[A-Z]*=//p' $(BUILD)/CMakeCache.txt) \
	  --editable .
	@rm -f $(VENV)/.package-installed*
	@touch $@

$(VENV)/.created:
	@$(PYTHON) tools/setup_venv.py $(VENV) create
	@touch $@

$(VENV)/.build-installed: pyproject.toml tools/build_requirements.py | $(VENV)/.created
	@$(PYTHON) tools/setup_venv.py $(VENV) build
	@touch $@

$(VENV)/.dev-installed: $(VENV)/.build-installed
	@$(PYTHON) tools/setup_venv.py $(VENV) dev
	@touch $@

$(VENV)/.docs-installed $(VENV)/.wheel-installed: $(VENV)/.%-installed: $(VENV)/.build-installed
	@$(PYTHON) tools/setup_venv.py $(VENV) $*
	@touch $@

$(BENCH_VENV)/.installed: benchmarks/requirements.txt tools/setup_venv.py | $(VENV)/.created
	@$(BIN)/python tools/setup_venv.py $(BENCH_VENV) create
	$(call say,"Installing the other engines (one gigabyte on the first time)")
	@$(BENCH_VENV)/bin/python -m pip install --disable-pip-version-check --quiet \
	  $(addprefix --find-links ,$(wildcard /opt/wheels)) -r benchmarks/requirements.txt
	$(call see-package,$(BENCH_VENV))
	@touch $@

$(RAY_VENV)/.installed: pyproject.toml tools/setup_venv.py | $(VENV)/.created
	@$(BIN)/python tools/setup_venv.py $(RAY_VENV) create
	$(call say,"Installing Ray (676 MB on the first time)")
	@$(RAY_VENV)/bin/python -m pip install --disable-pip-version-check --quiet \
	  $(addprefix --find-links ,$(wildcard /opt/wheels)) 'ray[data,serve]' pillow pytest numpy ml_dtypes
	$(call see-package,$(RAY_VENV))
	@touch $@
