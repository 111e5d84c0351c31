#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/races.sh - every plan's kernels under oclgrind, which looks for data races, reads outside buffers or of memory
# that nobody wrote, and wrong API calls. It exits with 0 whatever it finds, so what it prints decides; a planted fault
# shows that it would be seen. Results must equal the host's: the data are small integers.
set -u
cd "$(dirname "$0")/.." || exit 1
command -v oclgrind >/dev/null 2>&1 || { echo "oclgrind is missing"; exit 1; }
dir=build/races
mkdir -p $dir
faults='Read-write data race|Write-write|Uninitialized|Invalid (read|write|memory)|divergence|FATAL|errors generated|CL_INVALID|OCLGRIND|[Oo]clgrind:|No OpenCL'
rc=0 memory=--uninitialized
watch() { # watch NAME COMMAND...
    name=$1
    shift
    oclgrind --data-races --uniform-writes --check-api "$memory" --build-options -O0 "$@" >$dir/"$name".out 2>&1
    status=$?
    if grep -qE "$faults" $dir/"$name".out; then return 1; fi
    [ $status = 0 ] || { echo "exit status $status"; return 1; }
}

cat >$dir/planted.c <<'END'
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
int main(void) {
    const char *s = "__kernel void k(__global int *p) { p[0] = p[get_global_id(0) + 1] + 1; }";
    cl_platform_id p;
    cl_device_id d;
    size_t n = 64;
    cl_int e;
    if (clGetPlatformIDs(1, &p, 0) || clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 1, &d, 0)) return 1;
    cl_context c = clCreateContext(0, 1, &d, 0, 0, &e);
    cl_command_queue q = clCreateCommandQueue(c, d, 0, &e);
    cl_program g = clCreateProgramWithSource(c, 1, &s, 0, &e);
    clBuildProgram(g, 1, &d, "", 0, 0);
    cl_kernel k = clCreateKernel(g, "k", &e);
    cl_mem m = clCreateBuffer(c, CL_MEM_READ_WRITE, 4 * n, 0, &e);
    clSetKernelArg(k, 0, sizeof m, &m);
    clEnqueueNDRangeKernel(q, k, 1, 0, &n, 0, 0, 0, 0);
    return clFinish(q);
}
END
"${CC:-cc}" $dir/planted.c -o $dir/planted -lOpenCL || exit 1
if watch planted $dir/planted; then echo "the planted fault was not found"; exit 1; fi

formats=$(awk '/define SPMV_FORMAT_LIST/ { on = 1; next }
               on { last = !/\\$/; if (sub(/.*X\([A-Z]*, */, "")) { sub(/,.*/, ""); print } if (last) exit }' spmv_formats.h)
[ "$(echo "$formats" | wc -l)" -ge 11 ] || { echo "the format table was not found"; exit 1; }
plans="$formats hyb:rows=1 hyb-csr:rows=1 csr:rows=sorted ell:w=2+coo sell:h=4,rows=sorted,sigma=16 sell:grow=0.2
       dia:d=0.6+csr:rows=nonempty bcsr:b=3x3 cmrs:h=16,sort=1 cmrs:wide=1
       csr:run=32/STREAM=0 csr:run=32/STREAM=1,WG=64,UNROLL=2
       csr:run=128,idx=16,rows=nonempty/STREAM=1,WG=128 csr:run=1024/STREAM=1,WG=32 csr:run=32/STREAM=0,FINISH=1
       csr:run=33,rows=nonempty/STREAM=1,WG=64,FINISH=1 coo/ATOMIC=1 ell:idx=16 sell:idx=16 bcsr:b=3x3,idx=16"
plans="$plans dense/L=8,V=4,SEQ=4 ell/V=4,L=2 ell/IMG=1 sell/STAGE=1,L=2,V=4 sell:grow=0.2/STAGE=1 sell:grow=0.2/SLICE=1
       sell:h=7,idx=16/SLICE=1 bdia/STAGE=1,V=4,L=2 dia/L=4,V=8 bell/IMG=1 bcsr/L=4,SEQ=4 bell/L=2,SEQ=4,V=4
       cmrs/STAGE=1,ALIGN=1,L=8,SEQ=4"
run=0
# Rows of 1 to 3, some of 60, one of 300: csr's runs have rows that wait, and rows in pieces.
skew() {
    awk 'BEGIN { srand(1); n = 0
        for (r = 1; r <= 70; r++) {
            width = r == 35 ? 300 : r % 20 == 7 ? 60 : r % 9 == 0 ? 0 : 1 + r % 3
            for (k = 0; k < width; k++) entry[++n] = r " " 1 + (k * 5 + r * 7 * (width < 300)) % 301 " " 1 + (k + r) % 5
        }
        print "%%MatrixMarket matrix coordinate real general"; print "70 301 " n
        for (k = 1; k <= n; k++) print entry[k] }'
}
for m in ${RACES:-gr_9_8 ch4-5-b2 skew}; do
    if [ "$m" = skew ]; then skew >$dir/skew.mtx; else build/spmv gen "$m" -o $dir/"$m".mtx >/dev/null || exit 1; fi
    rows=$(awk '!/^%/ { print $1; exit }' $dir/"$m".mtx)
    { echo '%%MatrixMarket matrix array real general'; echo "$rows 1"; yes 3 | head -n "$rows"; } >$dir/y.mtx
    for plan in $plans; do
        type=$(echo "f64 f32 mixed" | cut -d ' ' -f $((run % 3 + 1)))
        memory=--uninitialized
        # oclgrind takes what an image gives for uninitialized if a function got the image as an argument
        case $plan in *IMG=1*) type=f32 memory=--uniform-writes ;; esac
        run=$((run + 1))
        set -- mul $dir/"$m".mtx --plan "$plan" --type "$type" --alpha 2 --beta -1 --y $dir/y.mtx
        build/spmv "$@" -o $dir/host.mtx || { echo "$m $plan $type: failed on the host"; rc=1; continue; }
        if watch product build/spmv "$@" --device 0 -o $dir/device.mtx && cmp -s $dir/host.mtx $dir/device.mtx; then
            echo "ok   $m $plan $type"
        else
            echo "FAIL $m $plan $type"
            grep -E -A 8 "$faults" $dir/product.out | head -n 30
            rc=1
        fi
    done
done
echo "$run products"
exit $rc
