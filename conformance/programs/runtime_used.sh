# For programs that are not ours: `. runtime_used.sh`, then `measured COMMAND...`.
#
# `measured` runs a command with its output in $scratch/out and $scratch/err and says on stderr how many seconds it took and
# which OpenMP runtime it used. It asks the runtime itself: Gangway counts the regions it forks and prints them at exit. A
# program that has one thread may fork none; then it is enough that the counters are there.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

measured() {
    begin=$(date +%s%N)
    if ! GANGWAY_STATS=true "$@" > "$scratch/out" 2> "$scratch/err"; then
        tail -n 3 "$scratch/out" "$scratch/err" >&2
        echo "$1 fails" >&2
        exit 1
    fi
    end=$(date +%s%N)
    echo "seconds: $(((end - begin) / 1000000000)).$(printf %09d $(((end - begin) % 1000000000)))" >&2
    least=1
    [ "${OMP_NUM_THREADS:-2}" = 1 ] && least=0
    if awk -v least=$least '$1 == "regions" && $2 >= least { ours = 1 } END { exit !ours }' "$scratch/err"; then
        echo "runtime: gangway" >&2
    else
        echo "runtime: other" >&2
    fi
}
