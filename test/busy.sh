#!/usr/bin/env bash
# busy.sh COMMAND...: runs a command beside four loops that keep the processors busy. The loops end
# with it, however it ends.
set -eu
loops=()
trap 'kill "${loops[@]}"' EXIT
for _ in 1 2 3 4; do
  while kill -0 $$ 2>/dev/null; do
    for ((i = 0; i < 100000; i++)); do :; done
  done &
  loops+=($!)
done
"$@"
