# What operators install, made and checked without a container engine. Minutes each: not a part of `make check`, which checks the same
# things on the programs that it has built (tests/system/check_image.py, check_package.py).
.PHONY: image-check
image-check: ## carry out the Dockerfile in clean roots (debootstrap, root, the network) and run what comes out (TICKPATH_IMAGE_CACHE=folder keeps the packages)
	@deploy/install-deps.sh --package
	@tests/system/check_image.py --whole

.PHONY: deb
deb: ## build the Debian packages in $(BUILD)/deb, ask lintian, install, upgrade and purge them on a copy of this machine's files and in a clean root (root, the network)
	@deploy/install-deps.sh --package
	@deploy/package.sh $(BUILD)/deb
	@tests/system/check_package.py --built $(BUILD)/deb
