#!/bin/sh
# Writes the lock (NAME.txt) of every NAME.in beside this script: one version
# of each package that has wheels for CPython 3.11 to 3.13, with the hashes of
# its files on all platforms. A version that a lock already has stays unless
# --upgrade, or "--upgrade-package NAME", is given. Needs uv and the network.
set -eu
cd "$(dirname "$0")"
UV=${UV:-uv}
for in in *.in; do
	"$UV" pip compile "$in" --output-file "${in%.in}.txt" "$@" --quiet \
		--universal --fork-strategy fewest --python-version 3.11 \
		--only-binary :all: --generate-hashes --no-emit-index-url \
		--no-emit-find-links --no-emit-build-options --no-header
done
