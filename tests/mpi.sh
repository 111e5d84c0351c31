# SPDX-License-Identifier: MIT
# tests/mpi.sh - read by other scripts (". tests/mpi.sh"): runs programs of MPI on this machine.

# Open MPI reads these; others ignore them. More processes than processors are allowed, nothing but the loopback interface is used,
# processes yield while they wait, and root may start them, as in a container.
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_hwloc_base_binding_policy=none
OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_oob_tcp_if_include=lo OMPI_MCA_pml=ob1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMPI_MCA_rmaps_base_oversubscribe OMPI_MCA_mpi_yield_when_idle
export OMPI_MCA_hwloc_base_binding_policy OMPI_MCA_btl OMPI_MCA_btl_vader_single_copy_mechanism OMPI_MCA_oob_tcp_if_include OMPI_MCA_pml
OMP_NUM_THREADS=1
export OMP_NUM_THREADS

mpi_missing() { # mpi_missing: prints what is missing and succeeds, if MPI is not installed
    for tool in mpicc mpirun; do
        command -v $tool >/dev/null 2>&1 || { echo "$tool is missing (Debian: libopenmpi-dev, openmpi-bin)"; return 0; }
    done
    return 1
}

mpi_on() { # mpi_on N PROGRAM ARGUMENT...: runs the program on N processes
    number=$1
    shift
    mpirun -n "$number" "$@"
}
