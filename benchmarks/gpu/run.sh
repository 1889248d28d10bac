#!/bin/sh
# Runs programs that `cargo xtask gpu-bench` has built into a directory, and prints what they measure as Markdown. Needs nothing else of the build, so the directory may be taken to another machine.
#
#   run.sh [--check] DIR [PROGRAM...]        programs: launch, gemm, overlap, graphs, factor; all without a word
#
# With fake/libcuda.so.1 in the directory that is the driver; else the system's. There is one more word then, `coherence`: kernels of the driver for tests are the host's code, in which
# parallel regions and coherence do not go together (graphs.h), so the graphs run once without one and once without the other.
check= limit=900
if [ "$1" = --check ]; then check=--check limit=60; shift; fi
dir=$(cd "$1" && pwd) || exit 2
shift
[ $# -gt 0 ] || set -- launch gemm overlap graphs factor
driver=on coherence=on kernels=$dir/kernels.ptx
if [ -e "$dir/fake/libcuda.so.1" ]; then
    driver=$dir/fake/libcuda.so.1 coherence=off kernels=$dir/kernels.so
    LD_LIBRARY_PATH=$dir/fake:$LD_LIBRARY_PATH
    GANGWAY_FAKE_CUDA=${GANGWAY_FAKE_CUDA:-devices=2,delay=20}
    export GANGWAY_FAKE_CUDA
fi
LD_LIBRARY_PATH=$dir/lib:$LD_LIBRARY_PATH OMPX_CUDA=$driver GPU_BENCH_KERNELS=$kernels GPU_BENCH_POLICY=$dir/policy.so OMP_TARGET_OFFLOAD=mandatory
export LD_LIBRARY_PATH OMPX_CUDA GPU_BENCH_KERNELS GPU_BENCH_POLICY OMP_TARGET_OFFLOAD
failed=0
for name in "$@"; do
    printf '\n## %s\n\n' "$name"
    case $name in
    overlap) OMPX_CUDA=$dir/recorder.so timeout -s KILL $limit "$dir/gemm" $check ;;
    graphs) OMPX_COHERENCE=$coherence timeout -s KILL $limit "$dir/graphs" $check ;;
    coherence) OMPX_COHERENCE=on timeout -s KILL $limit "$dir/plain" $check ;;
    factor) sh "$dir/factor.sh" "$dir" $check ;;
    launch | gemm) timeout -s KILL $limit "$dir/$name" $check ;;
    *) echo "there is no program $name" >&2; false ;;
    esac
    status=$?
    [ $status = 0 ] || { echo "$name: exit status $status" >&2; failed=1; }
done
exit $failed
