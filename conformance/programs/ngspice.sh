#!/bin/sh
# ngspice: transient analysis of a chain of inverters; the transistor models are evaluated by all threads.
# Arguments: the binary, how many inverters.
. "$(dirname "$0")/runtime_used.sh"
awk -v n="$2" -v threads="$OMP_NUM_THREADS" 'BEGIN {
    print "* chain of inverters\nVdd vdd 0 1.8\nVin n0 0 pulse(0 1.8 0.1n 0.05n 0.05n 1n 2n)"
    for (i = 0; i < n; i++) {
        print "Mp" i, "n" i + 1, "n" i, "vdd vdd pm w=2u l=0.18u\nMn" i, "n" i + 1, "n" i, "0 0 nm w=1u l=0.18u"
    }
    print ".model nm nmos level=54 version=4.5\n.model pm pmos level=54 version=4.5\n.tran 20p 1n\n.control"
    print "set num_threads=" threads "\nrun\nprint v(n1)[30] v(n5)[40] v(n10)[45]"
    print "meas tran delay WHEN v(n10)=0.9\nquit\n.endc\n.end"
}' > "$scratch/chain.cir"
measured "$1" -b "$scratch/chain.cir"
grep -E '^(v\(n|delay|No. of Data Rows)' "$scratch/out"
