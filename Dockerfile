# docker build -t collsim . && docker run --rm collsim run hgx-h200
# Files of yours: docker run --rm --read-only -v "$PWD:/work:ro" collsim diagnose nccl.log
FROM debian:bookworm-slim AS build
COPY . /collsim
WORKDIR /collsim
RUN tools/dev/install-packages \
 && cmake --preset release -DCOLLSIM_BUILD_TESTS=OFF -DCOLLSIM_BUILD_BENCHMARKS=OFF \
 && cmake --build --preset release \
 && cpack --config build/release/CPackConfig.cmake -B /package

FROM debian:bookworm-slim
COPY --from=build /package/*.deb /tmp/
RUN apt-get update \
 && apt-get install --yes --no-install-recommends /tmp/*.deb \
 && rm -rf /var/lib/apt/lists/* /tmp/*.deb
# nobody: collsim writes only what --output and its like name.
USER 65534:65534
WORKDIR /work
ENTRYPOINT ["collsim"]
