#!/bin/sh
# Runs `factor` (factor.c) under this runtime and under LLVM's, in turns, and prints tables; run.sh starts it, with this runtime's libraries first in LD_LIBRARY_PATH.
#
#   factor.sh DIR [--check]
#
# LLVM's libomp and libomptarget are those in the directory that GPU_BENCH_LLVM names; without it those that belong to the compiler, if they are here (DIR/llvm, a link). FACTOR_TURNS: how often each lane
# gets its turn (3), FACTOR_WORDS: words for the program, as `--size 16384`. A process that takes longer than FACTOR_LIMIT seconds (300) is ended, and stands in the table as such.
dir=$1 check=$2
llvm=${GPU_BENCH_LLVM:-$dir/llvm}
limit=${FACTOR_LIMIT:-300}
cores=$(getconf _NPROCESSORS_ONLN)

# LLVM's runtime looks for the driver by the name of development packages.
under_llvm() {
    program=$1 most=$2
    shift 2
    env -u OMPX_CUDA -u LD_PRELOAD "LD_LIBRARY_PATH=$llvm:$dir/cuda" timeout -s KILL "$most" "$program" "$@"
}

link_driver() {
    driver=$(ldconfig -p 2>/dev/null | sed -n 's/.*libcuda\.so\.1 .*=> //p' | head -n 1)
    mkdir -p "$dir/cuda" && [ -n "$driver" ] && ln -sf "$driver" "$dir/cuda/libcuda.so"
}

has_llvm() {
    [ -e "$llvm/libomptarget.so.19.1" ] || [ -e "$llvm/libomptarget.so" ]
}

# The answers. The driver for tests is for this runtime alone: what was built for it is there once more for LLVM's runtime, with that one's own devices, which are this machine.
if [ "$check" = --check ]; then
    timeout -s KILL 100 "$dir/factor" --check || exit
    if ! has_llvm; then
        echo "LLVM's runtime: skipped: there is no libomptarget in $llvm"
        exit 0
    fi
    other=$dir/factor-llvm
    [ -e "$other" ] || { other=$dir/factor && link_driver; }
    # LLVM's runtime 19 itself fails in one of five runs on a busy machine (an assertion in kmp_tasking.cpp, or a crash). That says nothing about this runtime, whose answers are right by now.
    for attempt in 1 2 3; do
        echo "under LLVM's runtime, attempt $attempt:"
        under_llvm "$other" 100 --check --way update --barrier omp && exit
    done
    echo "LLVM's runtime: left out: it has failed three times"
    exit 0
fi

seen=$(mktemp) || exit
trap 'rm -f "$seen" "$seen.errors" "$seen.failed"' EXIT

# lane LANE THREADS BARRIER: a process; its lines, with the lane before them. One that has failed is not tried again.
lane() {
    grep -qx "$*" "$seen.failed" 2>/dev/null && return
    export OMP_NUM_THREADS="$2"
    if [ "$1" = LLVM ]; then
        under_llvm "$dir/factor" "$limit" --rounds 1 --way update --barrier "$3" $FACTOR_WORDS
    else
        timeout -s KILL "$limit" "$dir/factor" --rounds 1 --barrier "$3" $FACTOR_WORDS
    fi >"$seen.lines" 2>"$seen.errors"
    status=$?
    sed "s/^/$1	/" "$seen.lines" >>"$seen"
    rm -f "$seen.lines"
    [ $status = 0 ] && return
    echo "$*" >>"$seen.failed"
    echo "* $1, $2 threads, $3: $([ $status = 137 ] && echo "ended after $limit s" || tail -n 1 "$seen.errors")"
    [ "$1" = LLVM ] || failed=1
}

lanes="Gangway LLVM" failed=0
link_driver
if ! has_llvm; then
    lanes=Gangway
    echo "LLVM's runtime: skipped: there is no libomptarget in $llvm (GPU_BENCH_LLVM names another directory)"
elif ! under_llvm "$dir/factor" 60 --size 256 --block 32 --rounds 1 --panel-threads 2 --way update --barrier omp >/dev/null 2>"$seen.errors"; then
    lanes=Gangway
    echo "LLVM's runtime: skipped: it does not run the program here: $(tail -n 1 "$seen.errors")"
fi
turn=0
while [ $turn -lt "${FACTOR_TURNS:-3}" ]; do
    for threads in $(printf '%s\n' 2 "$cores" | sort -nu); do
        for barrier in omp spin; do
            for who in $lanes; do lane "$who" "$threads" "$barrier"; done
        done
    done
    turn=$((turn + 1))
    lanes=$(echo "$lanes" | awk '{for (i = NF; i > 0; i--) printf "%s ", $i}')
done

# Columns of a line: lane, routine, rows of the matrix, of a block, way, barrier, threads, threads of a panel, seconds, GFlop/s, residual.
awk -F '\t' '
function place(list, count, value,   at) { for (at = count; at > 0 && list[at - 1] > value; at--) list[at] = list[at - 1]; list[at] = value }
function cell(key,   i, sorted) {
    if (!(key in count)) return "-"
    for (i = 0; i < count[key]; i++) place(sorted, i, rate[key, i])
    median[key] = sorted[int((count[key] - 1) / 2)] # of an even number the lower one
    return sprintf("%.1f, %.1f", sorted[count[key] - 1], median[key])
}
function better(name, value, setting) { if (value + 0 > best[name] + 0) { best[name] = value; by[name] = setting } }
{
    order = $3 " rows, blocks of " $4
    row = $2 SUBSEP $6 SUBSEP $7 SUBSEP $8
    if (!(row in known)) { known[row] = 1; rows[++row_count] = row }
    if (!($2 in routine)) { routine[$2] = 1; routines[++routine_count] = $2 }
    key = row SUBSEP $1 SUBSEP $5
    rate[key, count[key]++] = $10 + 0
    if ($11 + 0 > worst[row]) worst[row] = $11 + 0
}
END {
    print "\n" order "; GFlop/s, most and median.\n\n| | barrier of a panel | threads | of a panel | Gangway, `target update` | Gangway, arrays | LLVM, `target update` | largest residual |\n|---|---|---:|---:|---:|---:|---:|---:|"
    for (r = 1; r <= row_count; r++) {
        split(rows[r], of, SUBSEP)
        ours = rows[r] SUBSEP "Gangway" SUBSEP "update"; arrays = rows[r] SUBSEP "Gangway" SUBSEP "arrays"; theirs = rows[r] SUBSEP "LLVM" SUBSEP "update"
        printf "| %s | %s | %s | %s | %s | %s | %s | %.3f |\n", of[1], of[2], of[3], of[4], cell(ours), cell(arrays), cell(theirs), worst[rows[r]]
        setting = of[2] ", " of[3] " threads"
        better(of[1] " ours", median[ours], setting); better(of[1] " theirs", median[theirs], setting)
    }
    print "\nMedians of each runtime with the barrier and the number of threads that suit it best, with `target update`:\n\n| | Gangway | LLVM | ratio |\n|---|---|---|---:|"
    for (r = 1; r <= routine_count; r++) {
        name = routines[r]; mine = name " ours"; other = name " theirs"
        printf "| %s | %.1f (%s) | ", name, best[mine], by[mine]
        if (best[other] > 0) printf "%.1f (%s) | %.2f |\n", best[other], by[other], best[mine] / best[other]
        else print "not measured | - |"
    }
}' "$seen"
exit $failed
