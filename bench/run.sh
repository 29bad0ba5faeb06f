#!/usr/bin/env bash
# Measures esched with esched, and prints the figures as Markdown:
#
#     bench/run.sh                                    all, about an hour
#     bench/run.sh real default --repetitions 3       a part of it
#     bench/run.sh instant --only workload=merge      options of "esched run"
#
# Words choose what to run (real, instant, smoke, decision) and in which Python
# environments (default, dask-2024.5, or a path); without such words it is real,
# instant and decision in both pinned environments. Runs stay in
# bench/results/ENVIRONMENT-NAME/.
#
# ESCHED names another binary than bin/esched, RESULTS another directory.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
esched=${ESCHED:-$here/../bin/esched}
results=${RESULTS:-$here/results}

names=() environments=() options=() repetitions=
while [ $# -gt 0 ]; do
    case $1 in
        real | instant | smoke | decision) names+=("$1") ;;
        default | dask-2024.5 | */*) environments+=("$1") ;;
        --repetitions) repetitions=${2:?--repetitions needs a number}; shift ;;
        --repetitions=*) repetitions=${1#*=} ;;
        -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit ;;
        --*=*) options+=("$1") ;;
        --only | --seed | --cluster) options+=("$1" "${2:?$1 needs a value}"); shift ;;
        *) echo "bench/run.sh: unknown argument: $1 (see --help)" >&2; exit 2 ;;
    esac
    shift
done
[ ${#names[@]} -gt 0 ] || names=(real instant decision)
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

runs=() pages=()
for environment in "${environments[@]}"; do
    for name in "${names[@]}"; do
        directory=$results/$(basename "$environment")-$name
        mkdir -p "$directory"
        if [ "$name" = decision ]; then
            decision "$environment" "$directory"
        else
            experiment "$name" "$environment" "$directory"
        fi
    done
done
[ ${#runs[@]} -eq 0 ] || (cd "$here/.." && go run ./bench "${runs[@]}")
[ ${#pages[@]} -eq 0 ] || cat "${pages[@]}"
