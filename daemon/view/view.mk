# The live view's page is part of the daemon: daemon/view/view_assets.c takes its files in.
$(BUILD)/obj/daemon/view/view_assets.o: $(wildcard daemon/view/page/*)
