#!/bin/sh
# GROMACS: molecular dynamics of a box of 1728 water molecules. Arguments: the gmx binary, how many ranks, steps. The ranks of gmx are
# threads of the program that fork their own regions, those of gmx_mpi are processes of Open MPI. With -reprod the sums come in a fixed order for a given number
# of threads, so the energies must agree in all digits of the log.
. "$(dirname "$0")/mpi.sh"
gmx=$1
cat > "$scratch/water.top" <<TOP
#include "oplsaa.ff/forcefield.itp"
#include "oplsaa.ff/spce.itp"
[ system ]
water
[ molecules ]
SOL 1728
TOP
cat > "$scratch/run.mdp" <<MDP
integrator = md
nsteps = $3
dt = 0.002
nstlist = 10
coulombtype = PME
rcoulomb = 0.9
rvdw = 0.9
nstenergy = 10
nstlog = 10
nstcalcenergy = 10
gen_vel = yes
gen_temp = 300
gen_seed = 7
MDP
cd "$scratch" || exit 1
prepare() { "${gmx%_mpi}" -quiet -nobackup "$@" > prepare.log 2>&1 || { tail -n 4 prepare.log >&2; exit 1; }; }
prepare genconf -f /usr/share/gromacs/top/spc216.gro -nbox 2 2 2 -o water.gro
prepare grompp -f run.mdp -c water.gro -p water.top -o water.tpr -maxwarn 2
run="$gmx -quiet -nobackup mdrun -s water.tpr -deffnm out -ntomp $OMP_NUM_THREADS -pin off -reprod -notunepme"
case $gmx in
*_mpi) measured_ranks "$2" $run ;;
*) measured $run -ntmpi "$2" ;;
esac
awk '/Energies|Average/ { wanted = 1 } wanted && /^ .*[0-9]e[+-]/ { print } /A V E R A G E S/ { exit }' out.log
