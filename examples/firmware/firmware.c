/* SPDX-License-Identifier: MIT - matrices in flash memory, multiplied on a Cortex-M without a heap, files or stdio
 *
 * Another machine prepares the matrices, by any plan of the formats below:
 *     spmv convert grid.mtx csr.h --plan csr --type f32 --c-array
 *     spmv convert grid.mtx sell.h --plan sell:h=8 --type f32 --c-array
 * The program with all that it needs of the library takes less than 40 KB (tests/package.sh firmware has the compiler's options):
 *     arm-none-eabi-gcc -std=c99 -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -Os -ffunction-sections -Wl,--gc-sections -I. firmware.c ...
 * main returns 0 if y = A x is the same by both plans and is right. */
#define SPMV_IMPLEMENTATION
#define SPMV_STATIC /* so that the linker leaves out what is not called */
#define SPMV_NO_DEVICES
#define SPMV_NO_STDIO
#define SPMV_NO_AUTO
#define SPMV_NO_SIMD
#define SPMV_NO_F64
#define SPMV_ONLY (SPMV_BIT_CSR + SPMV_BIT_SELL)
#define SPMV_ASSERT(x) ((void)0)
#define SPMV_MALLOC(bytes) ((void)(bytes), (void *)0) /* there is no heap; nothing asks for memory */
#define SPMV_REALLOC(block, bytes) ((void)(block), (void)(bytes), (void *)0)
#define SPMV_FREE(block) ((void)(block))
#include "spmv.h"
#include "csr.h"
#include "sell.h"

enum { SIDE = 12, N = SIDE * SIDE }; /* points of a grid, of which each has -1 for a neighbour and 4 for itself */

static uint64_t room[2][SPMV_USE_ROOM(1)];
static float x[N], y[N], z[N];

/* Row i of A times ones: what is missing of four neighbours. */
static float expected(int i)
{
    return (float)((i < SIDE) + (i >= N - SIDE) + (i % SIDE == 0) + (i % SIDE == SIDE - 1));
}

int main(void)
{
    spmv_matrix a, b;
    int i;
    for (i = 0; i < N; i++) x[i] = 1;
    if (spmv_use(&a, csr, sizeof csr, room[0], sizeof room[0], NULL)) return 1; /* checks every index, so damage is found here */
    if (spmv_use(&b, sell, sizeof sell, room[1], sizeof room[1], NULL)) return 2;
    if (spmv_cols(&a) != N || spmv_mul_f32(&a, 1, x, 0, y)) return 3;
    if (spmv_cols(&b) != N || spmv_mul_f32(&b, 1, x, 0, z)) return 4;
    for (i = 0; i < N; i++)
        if (y[i] != expected(i) || z[i] != expected(i)) return 5;
    return 0;
}
