/* SPDX-License-Identifier: MIT - what firmware.c needs of a board, here the MPS2 with a Cortex-M4 of QEMU: the first words of the flash
 * memory, and how a program begins and ends */
#include <stdint.h>

extern uint32_t data_from[], data_begin[], data_end[], bss_begin[], bss_end[], stack_top[];

int main(void);

/* Tells the debugger or QEMU that the program has ended (semihosting, ADP_Stopped_ApplicationExit or a run-time error). */
static void stop(int status)
{
    register uint32_t call __asm__("r0") = 0x18, reason __asm__("r1") = status ? 0x20023u : 0x20026u;
    for (;;) __asm__ volatile("bkpt 0xab" : "+r"(call) : "r"(reason) : "memory");
}

static void fault(void) { stop(1); }

static void begin(void)
{
    uint32_t *from = data_from, *to;
    *(volatile uint32_t *)0xe000ed88u |= 0xfu << 20; /* CPACR: the floating-point unit is on */
    for (to = data_begin; to < data_end;) *to++ = *from++;
    for (to = bss_begin; to < bss_end;) *to++ = 0;
    stop(main());
}

typedef void (*vector)(void);
__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    vector    handler[15];
} vectors = { stack_top, { begin, fault, fault, fault, fault, fault } };
