#!/usr/bin/env bash
# Makes the README's pictures, docs/dashboard.svg and docs/report.png, from a
# real run of docs/pictures.toml (about a minute). Needs bin/esched, tmux,
# and Chromium. The height fits a headline of three lines.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
screen() { tmux -S "$work/tmux" "$@"; }
trap 'screen kill-server 2>/dev/null || true; rm -rf "$work"' EXIT

TERM=xterm-256color screen -f /dev/null new-session -d -s run -x 112 -y 34 \
  "cd '$work' && COLORTERM=truecolor '$PWD/bin/esched' run '$PWD/docs/pictures.toml'"
# The moment to take: three quarters of the trials have ended.
for _ in $(seq 300); do
  screen capture-pane -e -p -t run >"$work/screen" 2>/dev/null || break
  if grep -q '18/24' "$work/screen"; then
    python3 docs/screen.py <"$work/screen" >docs/dashboard.svg
    break
  fi
  sleep 0.3
done
for _ in $(seq 200); do
  report=$(ls "$work"/runs/*/report.html 2>/dev/null || true)
  [ -n "$report" ] && break
  sleep 0.5
done
: "${report:?no report: the run did not end}"
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=840,1385 \
  --screenshot="$work/report.png" "file://$report" 2>/dev/null
mv "$work/report.png" docs/report.png
ls -l docs/dashboard.svg docs/report.png
