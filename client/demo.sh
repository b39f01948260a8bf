#!/bin/bash
# The demo: a daemon of its own on a free loopback port that keeps its maps in a temporary folder, a 512x512 city
# (or the map in MAP), 200 agents walking through it while doors close and open, a table, a picture. `make demo` calls it.
#
#   BUILD   folder of the programs (build)        MAP      a MovingAI .map instead of the city
#   PNG     the picture (demo.png)                AGENTS   how many (200)
#   SEED    of the city, starts, goals and doors (1)
#   R       the budget: what each agent may spend in a tick (100); the walks come nearer to the shortest with more
#
# Exit status 0: every agent arrived, and every move was legal in the map version named with it.
set -eu

build=${BUILD:-build}
map=${MAP:-}
png=${PNG:-demo.png}
agents=${AGENTS:-200}
seed=${SEED:-1}
budget=${R:-100}

folder=$(mktemp -d "${TMPDIR:-/tmp}/tickpath-demo.XXXXXX")
daemon=
finish() {
    status=$?
    trap - EXIT INT TERM
    if [ -n "$daemon" ]; then
        kill -TERM "$daemon" 2>/dev/null || true
        wait "$daemon" || { echo "demo: the daemon ended badly ($?)" >&2; [ "$status" -ne 0 ] || status=1; }
    fi
    [ "$status" -eq 0 ] || { [ -s "$folder/log" ] && tail -n 20 "$folder/log" >&2; }
    rm -rf "$folder"
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

if [ -z "$map" ]; then
    map=$folder/city.map
    "$build/tickpath" map generate --kind city --size 512x512 --seed "$seed" --out "$map"
fi

"$build/tickpathd" --listen 127.0.0.1:0 --stats 127.0.0.1:0 --port-file "$folder/port" --data "$folder/data" 2>"$folder/log" &
daemon=$!
for _ in $(seq 100); do
    [ ! -s "$folder/port" ] || break
    kill -0 "$daemon" 2>/dev/null || { echo "demo: the daemon did not start" >&2; exit 1; }
    sleep 0.1
done
[ -s "$folder/port" ] || { echo "demo: the daemon wrote no port in 10 s" >&2; exit 1; }
{ read -r port && read -r stats; } <"$folder/port"

echo "tickpathd serves on 127.0.0.1:$port (process $daemon); $agents agents set out, each with R = $budget a tick"
echo "look on while they walk: http://127.0.0.1:$stats/"
"$build/tickpath" run --via "127.0.0.1:$port" --map "$map" --agents "$agents" --seed "$seed" --R "$budget" --png "$png"
printf '%-18s %s\n' budget "R = $budget a tick and agent; with more the walks come nearer to the shortest, where they are not there yet: R=$((budget * 10)) make demo"
