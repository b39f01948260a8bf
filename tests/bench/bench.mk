# Speed and memory, measured on this machine; the tests judge none of it. What changing maps, the block graph and guided agents
# promise is judged here: it fails when a bound is missed.
BENCH_RUNS ?= 5

.PHONY: bench
bench: build $(BUILD)/tests/bench/changes $(BUILD)/tests/bench/blocks $(BUILD)/tests/bench/guide $(BUILD)/tests/bench/memory ## measure speed and memory, medians over runs, and judge what changing maps, the block graph and guided agents promise (TICKPATH_MAPS; BENCH_RUNS=5; BENCH_README=1 writes README's figures)
	@tests/bench/bench.py --bin $(BUILD) --runs $(BENCH_RUNS) $(if $(BENCH_README),--readme README.md)

.PHONY: bench-blocks
bench-blocks: build $(BUILD)/tests/bench/blocks ## judge what the block graph promises, on every map of TICKPATH_MAPS
	@tests/bench/bench.py --bin $(BUILD) --blocks

.PHONY: bench-memory
bench-memory: build $(BUILD)/tests/bench/memory ## judge what sessions may hold, on the maps of TICKPATH_MAPS
	@tests/bench/bench.py --bin $(BUILD) --memory

# The load of the benches of changing maps: a client of its own.
$(BUILD)/tests/bench/changes: $(BUILD)/obj/tests/bench/changes.o $(CLIENT_LIB)
	@mkdir -p $(@D)
	$(CC) $(SANFLAGS) -o $@ $^ $$(pkg-config --libs $(PKGS_TOOL)) -lpthread -lm

# Those of the library: maps are read as the tool reads them.
$(BUILD)/tests/bench/blocks $(BUILD)/tests/bench/guide $(BUILD)/tests/bench/memory: $(BUILD)/tests/bench/%: $(BUILD)/obj/tests/bench/%.o $(BUILD)/tests/libtickpath-tool.a $(CLIENT_LIB) $(LIB)
	@mkdir -p $(@D)
	$(CC) $(SANFLAGS) -o $@ $^ $$(pkg-config --libs $(PKGS_TOOL)) -lpthread -lm
