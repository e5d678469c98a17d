#!/bin/sh
# Makes the password of the graph store, once, in docker/secrets/graph_password.
# The folder is its owner's alone. The file in it can be read by all, since the users inside the containers are others;
# they are given the file and not the folder.
set -eu
cd "$(dirname "$0")"
mkdir -p secrets
chmod 700 secrets
if [ -e secrets/graph_password ]; then
    echo "docker/secrets/graph_password is there already."
    exit 0
fi
umask 022
od -An -N24 -tx1 /dev/urandom | tr -d ' \n' > secrets/graph_password.new
echo >> secrets/graph_password.new
mv secrets/graph_password.new secrets/graph_password
echo "Made docker/secrets/graph_password."
