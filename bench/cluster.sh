#!/usr/bin/env bash
# Runs an experiment in a cluster of namespaces, as its user. Called by run.sh,
# on the head of internal/slurmworld/world.sh:
#
#     bench/cluster.sh ESCHED EXPERIMENT ENVIRONMENT DIRECTORY
#
# The run is copied to DIRECTORY, beside squeue.log with the times at which
# squeue was called, and memory.log: time, number of Dask's workers and the memory
# (proportional set size) of all of them in KiB. The exit code is that of "esched
# run".
set -euo pipefail
esched=$1 experiment=$2 environment=$3 directory=$4
user=das
home=$(getent passwd $user | cut -d: -f6)
install -d -o $user -g $user "$home/bin"
install -o $user -g $user -m 755 "$esched" "$home/bin/esched"
install -o $user -g $user -m 644 "$experiment" "$home/experiments.toml"
printf '#!/bin/sh\ndate +%%s.%%N >>"$HOME/squeue.log"\nexec %s "$@"\n' "$(command -v squeue)" >"$home/bin/squeue"
chmod 755 "$home/bin/squeue"

# Shares of pages that several workers have count once.
sample() {
    local workers=() cmdline pid
    for cmdline in /proc/[0-9]*/cmdline; do
        pid=${cmdline%/cmdline}
        if tr '\0' ' ' <"$cmdline" | grep -q '^[^ ]*python[^ ]* -m distributed.cli.dask_worker '; then
            workers+=("$pid/smaps_rollup")
        fi
    done 2>/dev/null
    [ ${#workers[@]} -gt 0 ] || return 0
    awk -v n=${#workers[@]} -v now="$(date +%s)" '/^Pss:/ { sum += $2 } END { print now, n, sum }' "${workers[@]}" 2>/dev/null || :
}
(while sleep 10; do sample; done) >"$home/memory.log" &
sampler=$!
code=0
(
    cd "$home"
    exec setpriv --reuid $user --regid $user --clear-groups env -i HOME="$home" USER=$user LOGNAME=$user SHELL=/bin/bash \
        LANG=C.UTF-8 PATH="$home/bin:$PATH" esched run --plain --env "$environment"
) >&2 || code=$?
kill $sampler
cp -r --no-preserve=ownership "$home"/runs/* "$directory/"
for run in "$home"/runs/*; do cp "$home/squeue.log" "$home/memory.log" "$directory/$(basename "$run")/"; done
exit $code
