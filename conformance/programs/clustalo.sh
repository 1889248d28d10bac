#!/bin/sh
# Clustal Omega: a multiple alignment, letter by letter. Arguments: the binary, how many sequences.
. "$(dirname "$0")/runtime_used.sh"
python3 "$(dirname "$0")/sequences.py" "$2" 300 > "$scratch/in.fa"
measured "$1" --threads "$OMP_NUM_THREADS" -i "$scratch/in.fa" --seqtype=DNA
cat "$scratch/out"
