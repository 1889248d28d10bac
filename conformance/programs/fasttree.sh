#!/bin/sh
# FastTreeMP: a tree of related sequences, to the last digit. Arguments: the binary, how many sequences.
. "$(dirname "$0")/runtime_used.sh"
python3 "$(dirname "$0")/sequences.py" "$2" 600 > "$scratch/in.fa"
measured "$1" -quiet -nt -gtr -gamma -seed 3 "$scratch/in.fa"
cat "$scratch/out"
