# For programs that run as several processes of Open MPI: after runtime_used.sh, `measured_ranks RANKS COMMAND...`.
#
# The ranks are not bound and give the processor away while they wait for messages: there may be more threads than
# processors. What is copied between them goes through shared memory, which containers allow as well.
. "$(dirname "$0")/runtime_used.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

measured_ranks() {
    ranks=$1
    shift
    measured mpirun -quiet --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 \
        --mca btl self,vader --mca btl_vader_single_copy_mechanism none -np "$ranks" "$@"
}
