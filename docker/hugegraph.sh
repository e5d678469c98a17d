#!/usr/bin/env bash
# Starts HugeGraph in its own image: with a password, and with the Gremlin endpoint open to the other containers.
set -eu
cd "${HUGEGRAPH_FOLDER:-/hugegraph-server}"
gremlin=conf/gremlin-server.yaml

# By default the endpoint answers its own machine alone, and drops the connection on a request of more than 64 KiB.
sed -i -e '/^#*host:/d' -e 's/^maxContentLength:.*/maxContentLength: 1048576/' "$gremlin"
sed -i -e '$a\' "$gremlin"
echo 'host: 0.0.0.0' >> "$gremlin"

./bin/enable-auth.sh
./bin/init-store.sh < "${PASSWORD_FILE:-/run/secrets/graph_password}"
exec ./bin/start-hugegraph.sh -d false -j "${JAVA_OPTS:-}"
