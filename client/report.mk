# The papers' experiments. MAPS=DIR takes the maps of a folder instead of generated ones, QUICK=1 the quick form.
MAPS ?=
QUICK ?=
PAPERS ?= $(BUILD)/papers

.PHONY: papers
papers: deps ## run the papers' experiments, write $(PAPERS)/report.html (MAPS=folder of maps, QUICK=1: seconds)
	+@$(MAKE) -s --no-print-directory $(check_jobs) build
	nice $(BUILD)/tickpath report --results $(PAPERS) $(if $(MAPS),--maps '$(MAPS)') $(if $(QUICK),--quick)
