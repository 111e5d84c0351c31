/* SPDX-License-Identifier: MIT
 * What the driver and the compiler of tests/cuda/fake.c show to tests. */
#ifndef SPMV_TESTS_CUDA_FAKE_H
#define SPMV_TESTS_CUDA_FAKE_H

enum { FAKE_CONTEXTS, FAKE_STREAMS, FAKE_MODULES, FAKE_BUFFERS, FAKE_EVENTS, FAKE_PROGRAMS, FAKE_PINNED, FAKE_GRAPHS, FAKE_LINKERS,
       FAKE_KINDS };
enum { FAKE_DEVICES = 2, FAKE_NAMED = 19, FAKE_REGISTERS = 40 };

typedef struct fake_state {
    int  alive[FAKE_KINDS]; /* what was given out and not released */
    int  bad;               /* calls with something that was not given out, or in the wrong context */
    long fail_in;           /* calls until one fails; negative: none does */
    int  error;             /* what it returns */
    char failed[64];        /* its name */
    int  init;              /* what cuInit returns */
    int  devices;
    int  capturing;         /* 1: a stream is captured in the global mode, and what that forbids to this thread is bad */
    void *captured;         /* that stream, if cuStreamBeginCapture began it */
    int  lost;              /* 1: a call has invalidated the capture */
    int  mode;              /* this thread's capture mode; 2, relaxed: nothing is forbidden */
    int  forbidden;         /* calls that are forbidden to threads in other modes */
    int  launches, syncs;
    int  recorded;          /* launches before those that are being recorded in a graph */
    int  overlapped;        /* launches that may start before the kernel in front of them has ended */
    int  peers;             /* copies from one device to another */
    unsigned groups, threads; /* of the latest launch */
    unsigned long long value[40]; /* its arguments, as many as the kernel of the latest program has */
    int  arch, cubin;       /* the latest program's */
    int  archs[3];          /* that the compiler knows */
    char options[256];
    const char *reject;     /* text that does not compile; NULL: everything does */
    void *current;          /* context */
    int   old;              /* 1: the compiler does not know --minimal */
    int   old_driver;       /* 1: the driver does not know the PTX that ships */
    int   refused;          /* machine code that the driver does not take: so many of the next modules */
    int   modules[2];       /* loaded from PTX; from machine code */
    int   linked;           /* programs that the linker was asked for */
    int   settled;          /* times that a whole device was waited for */
    void *stream;           /* of the latest launch */
    unsigned found[8];      /* what a copy of so many bytes to the host brings instead of what is there, unless all is 0 */
} fake_state;

extern fake_state fake;

#endif
