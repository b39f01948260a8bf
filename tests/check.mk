# Running the tests. tests/tests.mk builds them; tests/run.py runs and counts them.
#
#   make check                     bounded form, under ASan and UBSan; about 10 minutes on 2 cores
#   make check-long SECONDS=3600   longer form; SECONDS or STEPS lengthen what is random by hand
#   make check-long SHARE=40       40 % of the longer form's random cases, and all else of it
#   make check ONLY=unit           only the tests whose path holds this word
#
# A test program finds the daemon and the tool in the folder TICKPATH_BIN, which of the forms is wanted in TICKPATH_LONG and
# TICKPATH_SHARE, and the lengths given by hand in TICKPATH_SECONDS and TICKPATH_STEPS (unset when not given).

CHECK_JOBS ?= 2
ONLY ?=

# A BUILD given by hand is used; else the sanitizers have a folder of their own, so that `make` and `make check` in
# turn rebuild nothing.
ifeq ($(origin BUILD),file)
CHECK_BUILD := build/san
else
CHECK_BUILD := $(BUILD)
endif

CHECK_SCRIPTS := $(wildcard tests/*/check_*.sh tests/*/check_*.py)
check_pick = $(if $(ONLY),$(foreach t,$(1),$(if $(findstring $(ONLY),$(t)),$(t))),$(1))
# Sorted so that what takes longest starts first.
check_order = $(filter %/test_expected %/test_soak,$(1)) $(filter-out %/test_expected %/test_soak,$(1))
CHECK_PROGRAMS = $(call check_pick,$(call check_order,$(patsubst tests/%.c,$(CHECK_BUILD)/tests/%,$(TEST_SRC))))

# Those whose length has a longer form (tests/lib/harness.h); the others would do the same again.
CHECK_LONG = $(call check_pick,$(call check_order,$(patsubst tests/%.c,$(CHECK_BUILD)/tests/%,$(shell grep -lE 'tp_test_(long|steps|promised|seconds)|lib/cases\.h' $(TEST_SRC)))))

# What a make started here may use: the caller's jobs, else two.
check_jobs = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(CHECK_JOBS))

# Lengths from the command line only: a shell has a SECONDS of its own.
CHECK_LENGTHS = $(if $(filter command,$(firstword $(origin SECONDS))),TICKPATH_SECONDS='$(SECONDS)') \
	$(if $(filter command,$(firstword $(origin STEPS))),TICKPATH_STEPS='$(STEPS)') \
	$(if $(filter command,$(firstword $(origin SHARE))),TICKPATH_SHARE='$(SHARE)')

check_run = TICKPATH_BIN=$(CHECK_BUILD) $(CHECK_LENGTHS) tests/run.py --jobs $(CHECK_JOBS) --logs $(CHECK_BUILD)/test-logs

.PHONY: deps
deps: ## install the packages that are missing for building and testing
	@deploy/install-deps.sh

.PHONY: check-build
check-build: deps ## build what `make check` runs, with ASan and UBSan
	+@$(MAKE) -s --no-print-directory $(check_jobs) SAN=1 BUILD=$(CHECK_BUILD) build tests

.PHONY: check
check: check-build ## run every test in its bounded form under ASan and UBSan
	@$(check_run) --timeout 150 $(CHECK_PROGRAMS) $(call check_pick,$(CHECK_SCRIPTS))

# The reference figures have a long form of their own, check-papers: without sanitizers, which would make it hours.
.PHONY: check-long
check-long: check-build ## run every test that has a longer form in that (SECONDS= or STEPS= lengthen it further, SHARE= takes a percent of it)
	@TICKPATH_LONG=1 $(check_run) --timeout $(if $(filter command,$(firstword $(origin SECONDS))),$$((1100 + 2 * $(SECONDS))),1100) \
		$(filter-out %/test_expected,$(CHECK_LONG))

.PHONY: check-papers
check-papers: deps ## compare every row of the table of reference figures (TICKPATH_MAPS, TICKPATH_EXPECTED)
	+@$(MAKE) -s --no-print-directory $(check_jobs) build $(BUILD)/tests/system/test_expected
	@TICKPATH_BIN=$(BUILD) TICKPATH_LONG=1 tests/run.py --timeout 7200 --logs $(BUILD)/test-logs \
		$(BUILD)/tests/system/test_expected
