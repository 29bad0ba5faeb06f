#!/usr/bin/env bash
# Measures esched with esched, and prints the figures as Markdown:
#
#     bench/run.sh                                    what follows, 75 minutes
#     bench/run.sh real default --repetitions 3       a part of it
#     bench/run.sh instant --only workload=merge      options of "esched run"
#     bench/run.sh quick default                      what people wait for
#
# Words choose what to run and in which Python environments (default,
# dask-2024.5, or a path); without such words it is real, instant, decision and
# quick in both pinned environments, and cluster in the first one when this
# machine can have a cluster. Runs stay in bench/results/ENVIRONMENT-NAME/.
#
#     real       tiny tasks on four workers, against two settings of Dask
#     instant    the same on workers that execute nothing
#     decision   single decisions with 64 workers
#     quick      Enter to first task, a report of 1,000 trials, a plan of 10,000
#     cluster    from grant to first task on 4 and 64 nodes (64 also with a real
#                worker each), and the share of a claim inside trials: in a SLURM
#                cluster of namespaces, by root
#     taxi       10 to 200 SQL queries at the same time, with peaks of memory
#     pipeline   1 to 16 pipelines on 1, 2 and 4 workers, with bounds
#     deadlock   what docs/deadlock.md tells of; trials of it may end as timeout
#     smoke      as real, at sizes that only show that it runs
#
# ESCHED names another binary than bin/esched, RESULTS another directory; ROUNDS
# is how often quick measures (5), NODES the clusters ("4 64 64-real").
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
esched=${ESCHED:-$here/../bin/esched}
results=${RESULTS:-$here/results}

names=() environments=() options=() repetitions= once=
while [ $# -gt 0 ]; do
    case $1 in
        real | instant | smoke | taxi | pipeline | deadlock | decision | quick | cluster) names+=("$1") ;;
        default | dask-2024.5 | */*) environments+=("$1") ;;
        --repetitions) repetitions=${2:?--repetitions needs a number}; shift ;;
        --repetitions=*) repetitions=${1#*=} ;;
        -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit ;;
        --*=*) options+=("$1") ;;
        --only | --seed | --cluster | --trace) options+=("$1" "${2:?$1 needs a value}"); shift ;;
        *) echo "bench/run.sh: unknown argument: $1 (see --help)" >&2; exit 2 ;;
    esac
    shift
done
# unfit says why this machine cannot have a cluster of namespaces.
unfit() {
    local program
    [ "$(id -u)" = 0 ] || { echo "only root can make its namespaces"; return; }
    for program in slurmctld slurmd sbatch munged /usr/sbin/sshd ip ss unshare; do
        command -v "$program" >/dev/null || { echo "$program is not installed"; return; }
    done
}

if [ ${#names[@]} -eq 0 ]; then
    names=(real instant decision quick)
    reason=$(unfit)
    if [ -z "$reason" ]; then
        once=cluster
    else
        echo "bench/run.sh: without cluster: $reason" >&2
    fi
fi
[ ${#environments[@]} -gt 0 ] || environments=(default dask-2024.5)
if [ ! -x "$esched" ]; then
    echo "bench/run.sh: no $esched" >&2
    echo "Try: make build" >&2
    exit 1
fi

# experiment NAME ENVIRONMENT DIRECTORY: runs bench/NAME.toml.
experiment() {
    local file=$here/$1.toml code=0
    if [ -n "$repetitions" ]; then
        file=$3/$1.toml
        sed "s/^repetitions = .*/repetitions = $repetitions/" "$here/$1.toml" >"$file"
    fi
    "$esched" run "$file" --env "$2" --output "$3" --plain "${options[@]}" >&2 || code=$?
    # 3: some trials failed, which the tables tell.
    [ $code -eq 0 ] || [ $code -eq 3 ] || exit $code
    runs+=("$(find "$3" -mindepth 1 -maxdepth 1 -type d | sort | tail -n 1)")
}

# decision ENVIRONMENT DIRECTORY: runs bench/decision.py.
decision() {
    local python
    python=$("$esched" env "$1" | tail -n 1)
    PYTHONPATH=$here/../workloads/python "$python" "$here/decision.py" --esched "$esched" >"$2/decision.md"
    pages+=("$2/decision.md")
}

# quick ENVIRONMENT DIRECTORY: measures commands that people wait for.
quick() {
    "$esched" env "$1" >/dev/null
    (cd "$here/.." && go run ./bench quick "$esched" "$1" "$here/quick.toml" "$2" "${ROUNDS:-5}") >"$2/quick.md"
    pages+=("$2/quick.md")
}

# cluster ENVIRONMENT DIRECTORY: runs bench/cluster-N*.toml in worlds of N nodes.
# What the simulated clock says of a plan for 15 minutes goes with it.
cluster() {
    local environment=$1 n runs=() code
    case $environment in
        */*) ;;
        *) environment=$(dirname "$(dirname "$("$esched" env "$1" | tail -n 1)")") ;;
    esac
    for n in ${NODES:-4 64 64-real}; do
        mkdir -p "$2/$n"
        code=0
        "$here/../internal/slurmworld/world.sh" run "${n%%-*}" "$here/cluster.sh" \
            "$(realpath "$esched")" "$here/cluster-$n.toml" "$environment" "$(realpath "$2/$n")" >&2 || code=$?
        [ $code -eq 0 ] || [ $code -eq 3 ] || exit $code
        runs+=("$(find "$2/$n" -mindepth 1 -maxdepth 1 -type d | sort | tail -n 1)")
    done
    (cd "$here/.." && go run ./bench cluster "${runs[@]}") >"$2/cluster.md"
    (
        cd "$here/.." && echo "Simulated clock, a plan for 15 minutes:" && echo
        go test ./runners -count=1 -run '^TestShareOfAClaimInTrials$' -v | sed -n 's/^ *claim_share_test.go:[0-9]*: /- /p'
    ) >>"$2/cluster.md"
    pages+=("$2/cluster.md")
}

# measure ENVIRONMENT NAME
measure() {
    local directory
    directory=$results/$(basename "$1")-$2
    mkdir -p "$directory"
    case $2 in
        decision | quick | cluster) "$2" "$1" "$directory" ;;
        *) experiment "$2" "$1" "$directory" ;;
    esac
}

# tell prints the tables of what was measured since it was called last.
tell() {
    [ ${#runs[@]} -eq 0 ] || (cd "$here/.." && go run ./bench "${runs[@]}")
    [ ${#pages[@]} -eq 0 ] || cat "${pages[@]}"
    runs=() pages=()
}

runs=() pages=()
for environment in "${environments[@]}"; do
    for name in "${names[@]}"; do measure "$environment" "$name"; done
done
tell
if [ -n "$once" ]; then
    measure "${environments[0]}" "$once"
    tell
fi
