#!/bin/sh
# data.table of R: grouping, sorting, a join, rolling means, writing and reading a file. Arguments: the binary of R, rows.
. "$(dirname "$0")/runtime_used.sh"
export R_DATATABLE_NUM_THREADS="$OMP_NUM_THREADS" R_DATATABLE_NUM_PROCS_PERCENT=100
# The binary itself: the shell script around it puts the system's library directories before those of the caller.
export R_HOME=/usr/lib/R
measured "$1" --vanilla --no-echo -f "$(dirname "$0")/data_table.R" --args "$2" "$scratch/table.csv"
cat "$scratch/out"
