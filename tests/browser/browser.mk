.PHONY: view-pictures
view-pictures: deps build ## take README.md's pictures of the live view anew (daemon/view/page/pictures)
	@mkdir -p daemon/view/page/pictures
	@TICKPATH_BIN=$(BUILD) tests/browser/check_view_page.py $(CURDIR)/daemon/view/page/pictures
