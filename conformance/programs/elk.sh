#!/bin/sh
# Elk: the ground state of aluminium in a plane-wave basis, Fortran with MPI over points of the reciprocal cell and nested OpenMP regions in
# each. Arguments: the binary, how many ranks (processes of Open MPI), steps towards self-consistency. Prints the total
# energies and the moments of each step; sums of threads and ranks come in any order.
. "$(dirname "$0")/mpi.sh"
cat > "$scratch/elk.in" <<IN
tasks
  0

maxscl
  $3

maxthd
  -1

maxthd1
  0

avec
  1.0 1.0 0.0
  1.0 0.0 1.0
  0.0 1.0 1.0

scale
  3.75

sppath
  '/usr/share/elk-lapw/species/'

atoms
  1
  'Al.in'
  1
  0.0 0.0 0.0 0.0 0.0 0.0

ngridk
  2 2 2
IN
cd "$scratch" || exit 1
measured_ranks "$2" "$1"
cat TOTENERGY.OUT RMSDVS.OUT
