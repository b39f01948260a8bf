# Speed and memory, measured on this machine; the tests judge none of it. What is promised of them is judged here: it fails when a bound
# is missed.
BENCH_RUNS ?= 5
FRAMES_SECONDS ?= 60

# Programs of the library and of the client library, which use what the tool has; what another program is measured with beside ours; and all.
BENCH_LIB := $(patsubst %,$(BUILD)/tests/bench/%,blocks changes guide open search deadline interleaved memory snapshot log)
BENCH_BESIDE_US := $(BUILD)/tests/bench/cputime.so
BENCHES := $(BENCH_LIB) $(BENCH_BESIDE_US) $(BUILD)/tests/bench/echo

bench_run = tests/bench/bench.py --bin $(BUILD) --runs $(BENCH_RUNS) --seconds $(FRAMES_SECONDS)

.PHONY: bench
bench: build $(BENCHES) ## measure speed and memory, medians over runs, and judge what is promised of them (TICKPATH_MAPS; BENCH_RUNS=5; BENCH_README=1 writes README's figures and tests/bench/FIGURES.md; BENCH_HISTORY=1 keeps them in tests/bench/history.tsv)
	@$(bench_run) $(if $(BENCH_README),--readme README.md --figures tests/bench/FIGURES.md)

# Each part of it alone, by the name that bench.py lists.
bench-lines: ## measure searches as `tickpath bench` makes them
bench-search: ## measure single searches, and judge them beside another program (BENCH_BESIDE: its path; TICKPATH_MAPS)
bench-open: ## judge what an operation of the open list costs with a thousand and a million states open
bench-changes: ## judge what ticks, batches of changes and old versions cost while the map changes
bench-blocks: ## judge what the block graph promises, on every map of TICKPATH_MAPS
bench-crowd: ## judge how soon a crowd of guided agents finds its ways, and what these hold
bench-frames: ## judge what frames of many agents cost the daemon's loop, and single sessions beside a bare echo (FRAMES_SECONDS=60)
bench-deadline: ## judge what a tick's total of time promises
bench-interleaved: ## judge what many sessions in turn promise
bench-threads: ## measure sessions on one thread and on two, in the library and through daemons of one loop and two
bench-memory: ## judge what sessions may hold, on the maps of TICKPATH_MAPS
bench-log: ## judge batches of changes a second through the log of a shared Redis, and ticks while snapshots of a large map are written
bench-snapshot: ## judge how soon a map of 4096x4096 cells is written and read, and its size (TICKPATH_MAPS)
bench-guided: ## judge cost and back-moves of guided agents at k = 4 and 16 (TICKPATH_MAPS)

BENCH_PARTS := lines search open changes blocks crowd frames deadline interleaved threads memory snapshot guided log
.PHONY: $(BENCH_PARTS:%=bench-%)
$(BENCH_PARTS:%=bench-%): bench-%: build $(BENCHES)
	@$(bench_run) --only $*

.PHONY: bench-serving
bench-serving: $(BUILD)/tests/bench/serving ## what frames of ticks cost the daemon's loop, without its sockets
	@$< batch 1000 100 && $< single 20000

.PHONY: bench-metrics
bench-metrics: $(BUILD)/tests/bench/serving ## judge what counting costs a tick, in instructions, by a build without (needs valgrind)
	+@$(MAKE) -s --no-print-directory METRICS=0 BUILD=$(BUILD)/without-metrics $(BUILD)/without-metrics/tests/bench/serving
	@tests/bench/metrics.py $(BUILD) $(BUILD)/without-metrics

.PHONY: bench-probes
bench-probes: build ## judge how soon /livez answers while both loops are saturated, beside /readyz and /metrics
	@tests/bench/probes.py $(BUILD)

.PHONY: bench-view
bench-view: build ## what a live view of 1,000 agents costs their loop, and how much it is sent
	@tests/bench/view.py $(BUILD)

.PHONY: bench-history
bench-history: ## the last figures of this processor (BENCH_HISTORY=1 has a bench keep them) by those before
	@tests/bench/bench.py --history

bench_link = @mkdir -p $(@D) && $(CC) $(SANFLAGS) -o $@ $^ $$(pkg-config --libs $(1)) -lpthread -lm

$(BENCH_LIB): $(BUILD)/tests/bench/%: $(BUILD)/obj/tests/bench/%.o $(BUILD)/tests/libtickpath-tool.a $(CLIENT_LIB) $(LIB)
	$(call bench_link,$(or $(PKGS_BENCH),$(PKGS_TOOL)))

# It has its memory as a loop of the daemon's has.
$(BUILD)/tests/bench/interleaved: $(call obj,daemon/serve/slabs.c)

# It writes and reads maps as the daemon's stores do.
$(BUILD)/tests/bench/snapshot: PKGS_BENCH := $(PKGS_TOOL) libzstd libxxhash
$(BUILD)/tests/bench/snapshot: $(call obj,$(addprefix daemon/,store/snapshot.c store/snapshot_graph.c store/keys.c world/name.c store/place.c))

$(BUILD)/tests/bench/echo: $(BUILD)/obj/tests/bench/echo.o
	$(call bench_link,libuv)

# That of the daemon's loop drives it in process.
$(BUILD)/tests/bench/serving: $(BUILD)/obj/tests/bench/serving.o $(BUILD)/obj/tests/bench/linked.o $(BUILD)/obj/tests/lib/solo.o $(BUILD)/tests/libtickpath-tool.a $(CLIENT_LIB) $(DAEMON_LIB) $(LIB)
	$(call bench_link,$(PKGS_DAEMON) $(PKGS_TOOL))

# Preloaded into another program that is measured beside ours.
$(BENCH_BESIDE_US): tests/bench/cputime.c
	@mkdir -p $(@D)
	$(CC) $(STD) -O2 $(WARN) $(DAEMON_DEFS) -shared -fPIC -o $@ $<
