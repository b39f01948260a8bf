.PHONY: view-pictures
view-pictures: deps build ## take README.md's pictures of the live view anew (docs/view-*.png)
	@mkdir -p docs
	@TICKPATH_BIN=$(BUILD) tests/browser/check_view_page.py $(CURDIR)/docs
