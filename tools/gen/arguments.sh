# SPDX-License-Identifier: MIT
# tools/gen/arguments.sh - for scripts: what the library's kernels take, in their order, as spmvgen's option "arguments" wants it, for
# kernels that are to take their place. Nothing for descriptions of other formats.
library_arguments() { # library_arguments DESCRIPTION
    case $1 in
    csr) echo 'val,ptr,col,*run_row,*run_at,*base,*long_run,runs,longs' ;;
    coo) echo 'val,row,col,num_nonzeros,*carry_row,*carry_sum' ;;
    dense) echo 'val' ;;
    dia) echo 'val,offset,diagonals,ld' ;;
    bdia) echo 'val,offset,band_ptr,bands,ld' ;;
    ell | bell) echo 'val,col,base,width,ld' ;;
    sell) echo 'val,ptr,col,*slice_row,base,slices' ;;
    sellv) echo 'val,ptr,col,slice_row,base,slices' ;;
    sbell) echo 'val,ptr,col,base,slices' ;;
    bcsr) echo 'val,ptr,col,base,blocks' ;;
    cmrs) echo 'val,ptr,index,row' ;;
    esac
}
