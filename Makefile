# tickpath's only entry point. `make help` lists the targets.
MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := build
SHELL := /bin/bash

CC ?= gcc
ifeq ($(origin CC),default)
CC := gcc
endif
# BUILD is the folder of everything made; SAN=1 builds with AddressSanitizer and UndefinedBehaviourSanitizer.
SAN ?= 0
ifeq ($(SAN),1)
BUILD ?= build/san
SANFLAGS := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
OPT ?= -O1 -g
else
BUILD ?= build
SANFLAGS :=
OPT ?= -O2 -g
endif

# `make V=1` prints the commands.
V ?= 0
ifeq ($(V),0)
.SILENT:
endif

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror
STD := -std=c11
INCLUDE := -Isrc -I. -I$(BUILD)/gen
CFLAGS_ALL = $(STD) $(OPT) $(WARN) $(SANFLAGS) $(INCLUDE) -MMD -MP $(CFLAGS) $(CPPFLAGS)
# METRICS=0 builds a daemon that counts nothing (make bench-metrics).
METRICS ?= 1
# A service manager is told, and its sockets are taken, where libsystemd is; SYSTEMD=0 builds without it, SYSTEMD=1 wants it.
SYSTEMD ?= $(shell pkg-config --exists libsystemd && echo 1 || echo 0)
DAEMON_DEFS := -D_GNU_SOURCE -DTP_METRICS=$(METRICS) $(if $(filter 1,$(SYSTEMD)),-DTP_HAS_SYSTEMD)
PKGS_DAEMON := libuv libprotobuf-c hiredis libmicrohttpd libzstd libxxhash $(if $(filter 1,$(SYSTEMD)),libsystemd)
PKGS_TOOL := libprotobuf-c libpng

SRC := $(wildcard src/*/*.c src/*/*/*.c)
PROTO_OBJ := $(BUILD)/gen/proto/tickpath.pb-c.o
CLIENT_SRC := $(wildcard client/*.c)
TOOL_SRC := $(wildcard client/cli/*.c)
DAEMON_SRC := $(wildcard daemon/*.c daemon/*/*.c)
DAEMON_MAIN := daemon/main.c

obj = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))

LIB := $(BUILD)/libtickpath.a
CLIENT_LIB := $(BUILD)/libtickpath-client.a
DAEMON_LIB := $(BUILD)/libtickpathd.a

.PHONY: build
build: $(BUILD)/tickpathd $(BUILD)/tickpath ## build the release binaries build/tickpathd and build/tickpath

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z][a-z-]*:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

$(LIB): $(call obj,$(SRC))
	@mkdir -p $(@D)
	rm -f $@ && ar rcs $@ $^

$(CLIENT_LIB): $(call obj,$(CLIENT_SRC)) $(PROTO_OBJ)
	@mkdir -p $(@D)
	rm -f $@ && ar rcs $@ $^

$(DAEMON_LIB): $(call obj,$(filter-out $(DAEMON_MAIN),$(DAEMON_SRC))) $(PROTO_OBJ)
	@mkdir -p $(@D)
	rm -f $@ && ar rcs $@ $^

$(BUILD)/tickpathd: $(call obj,$(DAEMON_MAIN)) $(DAEMON_LIB) $(LIB)
	$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $$(pkg-config --libs $(PKGS_DAEMON)) -lpthread -lm

$(BUILD)/tickpath: $(call obj,$(TOOL_SRC)) $(CLIENT_LIB) $(LIB)
	$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $$(pkg-config --libs $(PKGS_TOOL)) -lpthread -lm

$(BUILD)/gen/proto/tickpath.pb-c.c $(BUILD)/gen/proto/tickpath.pb-c.h &: proto/tickpath.proto
	@mkdir -p $(BUILD)/gen/proto
	protoc-c --proto_path=. --c_out=$(BUILD)/gen $<

$(PROTO_OBJ): $(BUILD)/gen/proto/tickpath.pb-c.c $(BUILD)/how
	$(CC) $(STD) $(OPT) $(SANFLAGS) -I$(BUILD)/gen $(CFLAGS) $(CPPFLAGS) -c -o $@ $<

# How things are compiled here: where that changes, all is made anew.
how := $(CC) $(STD) $(OPT) $(WARN) $(SANFLAGS) $(DAEMON_DEFS) $(CFLAGS) $(CPPFLAGS) $(LDFLAGS)
$(BUILD)/how: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(how)' | cmp -s - $@ || printf '%s\n' '$(how)' > $@

FORCE: ;

# src/ is plain C11 without extensions of the system; the daemon, the client and the tests may use POSIX and GNU.
# Floating point (the Euclidean heuristic alone) must round alike everywhere: no contraction, sqrt as an instruction.
$(BUILD)/obj/src/%.o: src/%.c $(BUILD)/how
	@mkdir -p $(@D)
	echo "cc $<"
	$(CC) $(CFLAGS_ALL) -ffp-contract=off -fno-math-errno -c -o $@ $<

# The block graph's repair goes through short tables of numbers all the time: wide instructions pay.
ifneq ($(SAN),1)
$(BUILD)/obj/src/map/blocks_tile.o $(BUILD)/obj/src/map/blocks_repair.o: CFLAGS_ALL += -O3
endif

$(BUILD)/obj/%.o: %.c $(BUILD)/gen/proto/tickpath.pb-c.h $(BUILD)/how
	@mkdir -p $(@D)
	echo "cc $<"
	$(CC) $(CFLAGS_ALL) $(DAEMON_DEFS) -c -o $@ $<

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)

include $(sort $(wildcard client/*.mk daemon/*/*.mk tests/*.mk tests/*/*.mk))

.PHONY: clean
clean: ## remove everything made (in BUILD)
	rm -f demo.png
	test ! -e $(BUILD)/how || rm -rf $(BUILD)
