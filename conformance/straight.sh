#!/bin/sh
# Lets what ranks print go straight to where their launcher's own output goes. Launchers read each rank's output through a pipe of its own,
# and write what comes at the same time in any order.
#
#   straight.sh launch LAUNCHER [OPTION...] straight.sh rank PROGRAM [ARGUMENT...]
part=$1
shift
case $part in
launch)
    export STRAIGHT="/proc/$$/fd"
    exec "$@"
    ;;
rank) exec "$@" >>"$STRAIGHT/1" 2>>"$STRAIGHT/2" ;;
esac
