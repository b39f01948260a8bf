# libFuzzer programs: tests/fuzz/fuzz_<name>.c becomes $(BUILD)/fuzz/<name>, built by clang with the library's own
# sources. A dictionary tests/fuzz/<name>.dict and first inputs in
# tests/fuzz/seeds-<name>/ are used if they are there. They need clang's libFuzzer (Debian:
# libclang-rt-dev of clang's version) and are no part of `make check`, which runs seeded mutations instead
# (tests/fuzz/test_*.c).
FUZZ_SECONDS ?= 60
FUZZ_CLANG ?= clang
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_NAMES := $(patsubst tests/fuzz/fuzz_%.c,%,$(FUZZ_SRC))
FUZZ_FLAGS := -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all

# What one needs beside the library.
FUZZ_DAEMON_stored := $(addprefix daemon/,store/snapshot.c store/snapshot_graph.c store/keys.c world/name.c store/place.c)
FUZZ_LIBS_stored := $$(pkg-config --libs libzstd libxxhash)
$(BUILD)/fuzz/stored: $(FUZZ_DAEMON_stored) $(wildcard daemon/*.h daemon/*/*.h)

$(BUILD)/fuzz/%: tests/fuzz/fuzz_%.c $(SRC) $(wildcard src/*/*.h src/*/*/*.h tests/fuzz/*.h)
	@mkdir -p $(@D)
	$(FUZZ_CLANG) $(STD) -O1 -g $(WARN) $(FUZZ_FLAGS) $(INCLUDE) $(DAEMON_DEFS) -o $@ $< $(SRC) $(FUZZ_DAEMON_$*) $(FUZZ_LIBS_$*)

.PHONY: fuzz
fuzz: $(addprefix $(BUILD)/fuzz/,$(FUZZ_NAMES)) ## fuzz the parsers and what stores read with libFuzzer, FUZZ_SECONDS=60 each
	@for name in $(FUZZ_NAMES); do \
	    mkdir -p $(BUILD)/fuzz/corpus-$$name && \
	    $(BUILD)/fuzz/$$name -max_total_time=$(FUZZ_SECONDS) -max_len=2000 -print_final_stats=1 \
	        -artifact_prefix=$(BUILD)/fuzz/$$name- $$(test -e tests/fuzz/$$name.dict && echo -dict=tests/fuzz/$$name.dict) \
	        $(BUILD)/fuzz/corpus-$$name $$(ls -d tests/fuzz/seeds-$$name 2>/dev/null) || exit 1; \
	done
