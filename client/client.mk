# The client library's pkg-config file, installing, and the demo. Included by the Makefile.
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
VERSION := $(shell sed -n 's/^.define TP_VERSION "\(.*\)"$$/\1/p' src/base/version.h)

$(BUILD)/tickpath-client.pc: client/tickpath-client.pc.in src/base/version.h
	@mkdir -p $(@D)
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(patsubst $(PREFIX)/%,$${exec_prefix}/%,$(LIBDIR))|' -e 's|@VERSION@|$(VERSION)|' $< > $@

.PHONY: install
install: $(BUILD)/tickpathd $(BUILD)/tickpath $(CLIENT_LIB) ## install programs, the report's tables, client library, header, pkg-config file, protocol (PREFIX, LIBDIR, DESTDIR)
	rm -f $(BUILD)/tickpath-client.pc && $(MAKE) --no-print-directory $(BUILD)/tickpath-client.pc
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(PREFIX)/include \
		$(DESTDIR)$(PREFIX)/share/tickpath/papers
	install -m 755 $(BUILD)/tickpathd $(BUILD)/tickpath $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(CLIENT_LIB) $(DESTDIR)$(LIBDIR)
	install -m 644 client/tickpath_client.h $(DESTDIR)$(PREFIX)/include
	install -m 644 $(BUILD)/tickpath-client.pc $(DESTDIR)$(LIBDIR)/pkgconfig
	install -m 644 $(wildcard client/papers/*.txt) $(DESTDIR)$(PREFIX)/share/tickpath/papers
	install -m 644 proto/tickpath.proto proto/PROTOCOL.md $(DESTDIR)$(PREFIX)/share/tickpath

# Installing comes first and by a second make, so that a bare machine has its compiler before any rule needs it.
.PHONY: demo
demo: ## install what is missing, build, walk 200 agents through a daemon on a map with doors (MAP=file.map R=budget AGENTS=n SEED=n PNG=file)
	deploy/install-deps.sh --build
	$(MAKE) --no-print-directory build
	BUILD="$(BUILD)" MAP="$(MAP)" client/demo.sh
