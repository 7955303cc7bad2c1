#!/bin/sh
# mpirun's plm_rsh_agent in the lab: rsh.sh [-OPTION]... ADDRESS COMMAND...
# runs the command in the namespace of that host (network.py), under a host name of its own.
while [ "${1#-}" != "$1" ]; do shift; done
host=$((${1##*.} - 10))
shift
exec ip netns exec "h$host" unshare --uts sh -c "hostname lab$host; $*"
