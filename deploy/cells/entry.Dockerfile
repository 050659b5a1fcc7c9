# HAProxy of Debian, as the drill of .ci/run has it. The configuration is mounted (entry.yaml).
ARG RUN_IMAGE=docker.io/library/debian:bookworm-slim@sha256:4724b8cc51e33e398f0e2e15e18d5ec2851ff0c2280647e1310bc1642182655d
FROM ${RUN_IMAGE}
RUN apt-get update \
  && apt-get install --yes --no-install-recommends haproxy \
  && rm -rf /var/lib/apt/lists/*
USER haproxy
STOPSIGNAL SIGUSR1
ENTRYPOINT ["/usr/sbin/haproxy", "-W", "-db", "-f", "/etc/haproxy/haproxy.cfg"]
