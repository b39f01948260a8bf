# The live view's page is part of the daemon: daemon/view_assets.c takes its files in.
$(BUILD)/obj/daemon/view_assets.o: $(wildcard daemon/view/*)
