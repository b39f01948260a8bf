# The tests: tests/<kind>/test_<name>.c becomes $(BUILD)/tests/<kind>/test_<name>, a Check program of its own.
# tests/lib/*.c and the tool's own files (all but its main) are linked into every one.
TEST_SRC := $(wildcard tests/*/test_*.c)
TEST_BIN := $(patsubst tests/%.c,$(BUILD)/tests/%,$(TEST_SRC))
TEST_LIB_SRC := $(wildcard tests/lib/*.c)
TOOL_LIB := $(BUILD)/tests/libtickpath-tool.a

$(TOOL_LIB): $(call obj,$(filter-out client/cli/main.c,$(TOOL_SRC)))
	@mkdir -p $(@D)
	rm -f $@ && ar rcs $@ $^

$(BUILD)/tests/%: $(BUILD)/obj/tests/%.o $(call obj,$(TEST_LIB_SRC)) $(TOOL_LIB) $(CLIENT_LIB) $(DAEMON_LIB) $(LIB)
	@mkdir -p $(@D)
	$(CC) $(SANFLAGS) $(TEST_LDFLAGS) -o $@ $^ $$(pkg-config --libs check $(PKGS_DAEMON) $(PKGS_TOOL)) -lpthread -lm

# All objects are kept, or make takes those of the tests for steps on the way, removes them, and compiles them anew the next time.
.SECONDARY:

# They count what the library, and the daemon's loop, ask of the system.
$(BUILD)/tests/unit/test_tick_memory: TEST_LDFLAGS := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
# It sees how much memory the reading of a snapshot asks for.
$(BUILD)/tests/unit/test_snapshot: TEST_LDFLAGS := -Wl,--wrap=malloc,--wrap=calloc
$(BUILD)/tests/integration/test_frame_memory: TEST_LDFLAGS := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=uv_try_write,--wrap=uv_write
# It decides what some names resolve to, and when memory is short.
$(BUILD)/tests/integration/test_redis_conn: TEST_LDFLAGS := -Wl,--wrap=uv_getaddrinfo,--wrap=malloc,--wrap=calloc
# It decides when memory is short on a store's thread.
$(BUILD)/tests/integration/test_redis_memory: TEST_LDFLAGS := -Wl,--wrap=malloc,--wrap=calloc

# It tells the disk to fail.
$(BUILD)/tests/fault/test_folder: TEST_LDFLAGS := -Wl,--wrap=fdatasync,--wrap=fsync,--wrap=ftruncate,--wrap=renameat

.PHONY: tests
tests: $(TEST_BIN) ## build the test programs

.PHONY: docs-metrics
docs-metrics: $(BUILD)/tests/unit/test_metrics_docs ## write daemon/stats/METRICS.md anew from the metrics table
	$< --write
