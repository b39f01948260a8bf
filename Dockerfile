# Two stages; the first one's work is two scripts that also run by hand (in a chroot, on a machine): deploy/docker-build.sh and
# deploy/docker-runtime.sh. The second holds the two programs, the shared libraries that they need, and neither a shell nor a package
# manager. `make image-check` carries out these lines without a container engine.
#
#   docker build -t tickpath .
#   docker run -p 7878:7878 -v tickpath:/var/lib/tickpath tickpath
#
# With Redis instead of the data folder: -e TICKPATHD_DATA= -e TICKPATHD_REDIS=redis://HOST:PORT
# Several daemons with Redis and HAProxy: deploy/compose.yaml, deploy/kubernetes/

FROM debian:bookworm-slim AS build
WORKDIR /src
# The packages first, in a layer of their own: they change less often than the sources.
COPY deploy/install-deps.sh deploy/
RUN deploy/install-deps.sh --build
COPY . .
RUN deploy/docker-build.sh /out
RUN deploy/docker-runtime.sh /out

FROM scratch AS runtime
COPY --from=build /out/ /
COPY --from=build --chown=10001:10001 /out/var/lib/tickpath/ /var/lib/tickpath/
# A number, so that a volume's owner stays the same from image to image, and who runs it sees that it is not root.
USER 10001:10001
WORKDIR /var/lib/tickpath
VOLUME /var/lib/tickpath
# Inside a container loopback reaches nobody: what is published is the operator's word (-p).
ENV TICKPATHD_LISTEN=0.0.0.0:7878 \
    TICKPATHD_STATS=0.0.0.0:7879 \
    TICKPATHD_DATA=/var/lib/tickpath
EXPOSE 7878 7879
HEALTHCHECK --interval=10s --timeout=4s --start-period=30s --retries=3 \
    CMD ["/usr/local/bin/tickpath", "health"]
ENTRYPOINT ["/usr/local/bin/tickpathd"]
