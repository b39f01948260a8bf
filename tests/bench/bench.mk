# Speed and memory, measured on this machine; the tests judge none of it. What is promised of them is judged here: it fails when a bound
# is missed.
BENCH_RUNS ?= 5
FRAMES_SECONDS ?= 60
BENCHES := $(patsubst %,$(BUILD)/tests/bench/%,changes blocks guide open search cputime.so echo deadline)

.PHONY: bench
bench: build $(BENCHES) ## measure speed and memory, medians over runs, and judge what is promised of them (TICKPATH_MAPS; BENCH_RUNS=5; BENCH_README=1 writes README's figures; BENCH_HISTORY=1 keeps them in tests/bench/history.tsv; BENCH_BESIDE=program to be judged beside)
	@tests/bench/bench.py --bin $(BUILD) --runs $(BENCH_RUNS) --seconds $(FRAMES_SECONDS) $(if $(BENCH_README),--readme README.md)

.PHONY: bench-blocks
bench-blocks: build $(BUILD)/tests/bench/blocks ## judge what the block graph promises, on every map of TICKPATH_MAPS
	@tests/bench/bench.py --bin $(BUILD) --blocks

.PHONY: bench-search
bench-search: $(BUILD)/tests/bench/search $(BUILD)/tests/bench/cputime.so ## measure single searches, and judge them beside another program (BENCH_BESIDE: its path; TICKPATH_MAPS)
	@tests/bench/bench.py --bin $(BUILD) --search --runs $(BENCH_RUNS)

.PHONY: bench-frames
bench-frames: build $(BUILD)/tests/bench/echo ## judge what frames of many agents cost the daemon's loop, and single sessions beside a bare echo (FRAMES_SECONDS=60)
	@tests/bench/bench.py --bin $(BUILD) --frames --seconds $(FRAMES_SECONDS)

.PHONY: bench-deadline
bench-deadline: build $(BUILD)/tests/bench/deadline ## judge what a tick's total of time promises
	@tests/bench/bench.py --bin $(BUILD) --runs $(BENCH_RUNS) --deadline

.PHONY: bench-open
bench-open: $(BUILD)/tests/bench/open ## judge what an operation of the open list costs with a thousand and a million states open
	@tests/bench/bench.py --bin $(BUILD) --open

.PHONY: bench-history
bench-history: ## the last figures of this processor (BENCH_HISTORY=1 has a bench keep them) by those before
	@tests/bench/bench.py --history

# The load of the benches of changing maps: a client of its own.
$(BUILD)/tests/bench/changes: $(BUILD)/obj/tests/bench/changes.o $(CLIENT_LIB)
	@mkdir -p $(@D)
	$(CC) $(SANFLAGS) -o $@ $^ $$(pkg-config --libs $(PKGS_TOOL)) -lpthread -lm

# Those of the library: maps are read as the tool reads them.
BENCH_LIB := $(patsubst %,$(BUILD)/tests/bench/%,blocks guide open search deadline)
$(BENCH_LIB): $(BUILD)/tests/bench/%: $(BUILD)/obj/tests/bench/%.o $(BUILD)/tests/libtickpath-tool.a $(CLIENT_LIB) $(LIB)
	@mkdir -p $(@D)
	$(CC) $(SANFLAGS) -o $@ $^ $$(pkg-config --libs $(PKGS_TOOL)) -lpthread -lm

$(BUILD)/tests/bench/echo: $(BUILD)/obj/tests/bench/echo.o
	@mkdir -p $(@D)
	$(CC) $(SANFLAGS) -o $@ $^ $$(pkg-config --libs libuv)

.PHONY: bench-frame
bench-frame: $(BUILD)/tests/bench/frame ## what frames of ticks cost the daemon's loop, without its sockets
	@$< batch 1000 100 && $< single 20000

# That of the daemon's loop drives it in process.
$(BUILD)/tests/bench/frame: $(BUILD)/obj/tests/bench/frame.o $(BUILD)/obj/tests/lib/solo.o $(BUILD)/tests/libtickpath-tool.a $(CLIENT_LIB) $(DAEMON_LIB) $(LIB)
	@mkdir -p $(@D)
	$(CC) $(SANFLAGS) -o $@ $^ $$(pkg-config --libs $(PKGS_DAEMON) $(PKGS_TOOL)) -lpthread -lm

# Preloaded into another program that is measured beside ours.
$(BUILD)/tests/bench/cputime.so: tests/bench/cputime.c
	@mkdir -p $(@D)
	$(CC) $(STD) -O2 $(WARN) $(DAEMON_DEFS) -shared -fPIC -o $@ $<
