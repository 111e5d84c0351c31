/* SPDX-License-Identifier: MIT
 * A driver of CUDA and an NVRTC that compute nothing, for tests on machines without a GPU: memory is the host's, every call is checked,
 * and one may be made to fail. Compiled with -DCOMPILER it is libnvrtc.so.13, else libcuda.so.1. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Counts a call; 1 if it is the one that fails. */
static int fails(const char *name)
{
    if (fake.fail_in < 0 || fake.fail_in--) return 0;
    snprintf(fake.failed, sizeof fake.failed, "%s", name);
    return 1;
}

#ifndef COMPILER
fake_state fake = { .fail_in = -1, .error = 2, .devices = FAKE_DEVICES, .archs = { 75, 80, 90 } };

typedef struct thing {
    int    kind, refs;
    void  *context;
    size_t bytes;
    char  *data;
    struct thing *next;
} thing;

static thing *things;
static thing primary[FAKE_DEVICES];

#define CALL() do { if (fails(__func__)) return fake.error; } while (0)
#define FORBIDDEN_WHILE_CAPTURED()                  \
    do {                                            \
        fake.forbidden++;                           \
        if (fake.capturing && fake.mode != 2) fake.bad++; \
    } while (0)

/* 900, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED: what is not for a graph ends the capture of the stream. */
#define FORBIDDEN_IN_CAPTURED(stream)                                                  \
    do {                                                                               \
        if ((stream) == fake.captured && fake.captured) return fake.lost = 1, 900;     \
    } while (0)

static void *give(int kind, size_t bytes)
{
    thing *t = (thing *)calloc(1, sizeof *t);
    t->kind = kind;
    t->context = fake.current;
    t->bytes = bytes;
    t->data = (char *)calloc(1, bytes + 1);
    t->next = things;
    things = t;
    fake.alive[kind]++;
    if (!fake.current) fake.bad++;
    return t;
}

static thing *find(const void *handle, int kind)
{
    thing *t = things;
    while (t && (t != handle || t->kind != kind)) t = t->next;
    if (!t || t->context != fake.current) fake.bad++;
    return t;
}

/* 1 for a stream that was given out, and for those that each context has: CU_STREAM_LEGACY and CU_STREAM_PER_THREAD. */
static int is_stream(const void *stream)
{
    if ((unsigned long long)stream - 1 >= 2) return find(stream, FAKE_STREAMS) != NULL;
    if (!fake.current) fake.bad++;
    return fake.current != NULL;
}

static int take_back(thing *t)
{
    thing **at = &things;
    if (!t) return 1;
    while (*at != t) at = &(*at)->next;
    *at = t->next;
    fake.alive[t->kind]--;
    free(t->data);
    free(t);
    return 0;
}

static thing *at_address(unsigned long long at)
{
    thing *t = things;
    while (t && !(t->kind == FAKE_BUFFERS && at - (unsigned long long)t->data < t->bytes)) t = t->next;
    if (!t) fake.bad++;
    return t;
}

int cuInit(unsigned flags) { return flags ? 1 : fake.init; }
int cuGetErrorName(int code, const char **text) { *text = code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_FAKE"; return 0; }
int cuGetErrorString(int code, const char **text) { *text = code == 2 ? "out of memory" : "planted"; return 0; }
int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
int cuDeviceGetCount(int *count) { CALL(); *count = fake.devices; return 0; }
int cuDeviceGet(int *device, int ordinal) { CALL(); *device = ordinal; return ordinal < 0 || ordinal >= FAKE_DEVICES; }
int cuDeviceGetName(char *name, int size, int device) { CALL(); snprintf(name, (size_t)size, "NVIDIA Fake %d", device); return 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { CALL(); *bytes = (size_t)1 << 32; return device >= FAKE_DEVICES; }

/* Device 0 is one that the compiler knows, device 1 one that it does not. */
int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    CALL();
    switch (attribute) {
    case 1: *value = 1024; return 0;
    case 8: *value = 49152; return 0;
    case 16: *value = 132; return 0;
    case 18: *value = 0; return 0;
    case 36: *value = 2619000; return 0;
    case 37: *value = 5120; return 0;
    case 38: *value = 50 << 20; return 0;
    case 75: *value = device ? 8 : 9; return 0;
    case 76: *value = device ? 1 : 0; return 0;
    default: return 1;
    }
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    CALL();
    primary[device].refs++;
    fake.alive[FAKE_CONTEXTS]++;
    *context = &primary[device];
    return 0;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    if (!primary[device].refs--) fake.bad++;
    fake.alive[FAKE_CONTEXTS]--;
    return 0;
}

int cuCtxGetCurrent(void **context) { *context = fake.current; return 0; }
static void *stack[8];
static int depth;
int cuCtxPushCurrent_v2(void *context) { stack[depth++] = fake.current; fake.current = context; return 0; }
int cuCtxPopCurrent_v2(void **context) { *context = fake.current; fake.current = stack[--depth]; return 0; }
int cuThreadExchangeStreamCaptureMode(int *mode)
{
    const int before = fake.mode;
    if (*mode < 0 || *mode > 2) return 1;
    fake.mode = *mode;
    *mode = before;
    return 0;
}

int cuCtxSynchronize(void) { CALL(); FORBIDDEN_WHILE_CAPTURED(); fake.settled++; return !fake.current; }
int cuCtxGetDevice(int *device) { CALL(); *device = fake.current == &primary[1]; return !fake.current; }

int cuStreamCreate(void **stream, unsigned flags) { CALL(); *stream = give(FAKE_STREAMS, 0); return flags != 0; }
int cuStreamCreateWithPriority(void **stream, unsigned flags, int priority)
{
    CALL();
    *stream = give(FAKE_STREAMS, 0);
    return flags || priority >= 0;
}
int cuStreamDestroy_v2(void *stream) { return take_back(find(stream, FAKE_STREAMS)); }
int cuStreamSynchronize(void *stream)
{
    CALL();
    FORBIDDEN_WHILE_CAPTURED();
    FORBIDDEN_IN_CAPTURED(stream);
    fake.syncs++;
    return !is_stream(stream);
}

int cuStreamIsCapturing(void *stream, int *status)
{
    CALL();
    *status = stream == fake.captured ? 1 + fake.lost : 0;
    return !is_stream(stream);
}

int cuStreamGetCtx(void *stream, void **context)
{
    thing *t = things;
    CALL();
    while (t && t != stream) t = t->next;
    *context = t ? t->context : (unsigned long long)stream - 1 < 2 ? fake.current : NULL;
    return !*context;
}

static int takes_ptx(const char *ptx)
{
    if (fake.old_driver && strstr(ptx, ".version 7.8")) return 222; /* CUDA_ERROR_UNSUPPORTED_PTX_VERSION */
    return strstr(ptx, ".target") ? 0 : 200;
}

int cuModuleLoadData(void **module, const void *image)
{
    const int machine = !memcmp(image, "\177ELF", 4);
    int e = machine ? 0 : takes_ptx((const char *)image);
    CALL();
    FORBIDDEN_WHILE_CAPTURED();
    if (machine && fake.refused && fake.refused--) e = 209; /* CUDA_ERROR_NO_BINARY_FOR_GPU */
    if (e) return e;
    fake.modules[machine]++;
    *module = give(FAKE_MODULES, 0);
    return 0;
}

#define LIMITED ".maxnreg 40 .maxntid " /* FAKE_REGISTERS */
static int count(const char *text, const char *what)
{
    int n = 0;
    while ((text = strstr(text, what)) != NULL) n++, text++;
    return n;
}

int cuLinkCreate_v2(unsigned options, int *option, void **value, void **linker)
{
    CALL();
    fake.linked++;
    *linker = give(FAKE_LINKERS, 5);
    return options || option || value;
}

int cuLinkAddData_v2(void *linker, int type, void *data, size_t bytes, const char *name, unsigned options, int *option, void **value)
{
    CALL();
    if (!find(linker, FAKE_LINKERS) || type != 1 || strlen((char *)data) + 1 != bytes || name || options || option || value) fake.bad++;
    if (count((char *)data, ".entry ") != count((char *)data, LIMITED) + count((char *)data, ".minnctapersm ")) fake.bad++;
    return takes_ptx((char *)data);
}

int cuLinkComplete(void *linker, void **image, size_t *bytes)
{
    thing *t = find(linker, FAKE_LINKERS);
    CALL();
    if (!t) return 1;
    *image = memcpy(t->data, "\177ELF", *bytes = t->bytes);
    return 0;
}

int cuLinkDestroy(void *linker) { return take_back(find(linker, FAKE_LINKERS)); }

int cuModuleUnload(void *module) { FORBIDDEN_WHILE_CAPTURED(); return take_back(find(module, FAKE_MODULES)); }

/* A function's handle is its module's. */
int cuModuleGetFunction(void **function, void *module, const char *name)
{
    static const char names[] = " spmv finish scale fill count count_ends check widen longest tiles tail turn begins collect diagonals "
                                "digits encode find listed look_up move same spans sum_up sums take ";
    const char *at = strstr(names, name);
    CALL();
    *function = find(module, FAKE_MODULES);
    return at && at[-1] == ' ' && at[strlen(name)] == ' ' ? 0 : 500;
}

int cuFuncGetAttribute(int *value, int attribute, void *function)
{
    CALL();
    *value = !attribute ? 1024 : attribute == 4 ? FAKE_REGISTERS : 0;
    return !find(function, FAKE_MODULES);
}

int cuMemAlloc_v2(unsigned long long *at, size_t bytes)
{
    CALL();
    FORBIDDEN_WHILE_CAPTURED();
    if (!bytes) fake.bad++;
    *at = (unsigned long long)((thing *)give(FAKE_BUFFERS, bytes))->data;
    return 0;
}

int cuMemFree_v2(unsigned long long at) { FORBIDDEN_WHILE_CAPTURED(); return take_back(at_address(at)); }

int cuMemGetAddressRange_v2(unsigned long long *begin, size_t *bytes, unsigned long long at)
{
    thing *t;
    CALL();
    t = at_address(at);
    if (!t) return 1;
    *begin = (unsigned long long)t->data;
    *bytes = t->bytes;
    return 0;
}

/* Attribute 9: the number of the device. */
int cuPointerGetAttribute(void *value, int attribute, unsigned long long at)
{
    thing *t = things;
    int number;
    CALL();
    while (t && !(t->kind == FAKE_BUFFERS && at - (unsigned long long)t->data < t->bytes)) t = t->next;
    number = t ? t->context == &primary[1] : -2;
    memcpy(value, &number, sizeof number);
    return !t || attribute != 9;
}

/* CUlaunchConfig and CUlaunchAttribute. */
struct config {
    unsigned grid[3], block[3], shared;
    void *stream;
    struct { int id, unused, value[16]; } *attributes;
    unsigned count;
};

static int copy(void *to, const void *from, unsigned long long at, size_t bytes, void *stream)
{
    thing *t = at_address(at);
    FORBIDDEN_WHILE_CAPTURED(); /* a copy from pageable memory, and the synchronization behind it */
    is_stream(stream);
    FORBIDDEN_IN_CAPTURED(stream);
    if (!t || bytes > t->bytes - (size_t)(at - (unsigned long long)t->data)) { fake.bad++; return 1; }
    memcpy(to, from, bytes);
    return 0;
}

int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes, void *stream)
{
    CALL();
    return copy((void *)to, from, to, bytes, stream);
}

int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t bytes, void *stream)
{
    static const unsigned none[sizeof fake.found / sizeof *fake.found];
    CALL();
    if (copy(to, (const void *)from, from, bytes, stream)) return 1;
    if (bytes == sizeof fake.found && memcmp(fake.found, none, bytes)) memcpy(to, fake.found, bytes);
    return 0;
}

int cuMemsetD32Async(unsigned long long at, unsigned word, size_t count, void *stream)
{
    thing *t;
    CALL();
    t = at_address(at);
    find(stream, FAKE_STREAMS);
    FORBIDDEN_IN_CAPTURED(stream);
    if (!t || 4 * count > t->bytes - (size_t)(at - (unsigned long long)t->data)) { fake.bad++; return 1; }
    while (count) memcpy((char *)at + 4 * --count, &word, 4);
    return 0;
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   void *stream, void **parameters, void **extra)
{
    int i;
    CALL();
    find(function, FAKE_MODULES);
    is_stream(stream);
    fake.stream = stream;
    if (!gx || !bx || gy != 1 || gz != 1 || by != 1 || bz != 1 || shared || extra) fake.bad++;
    for (i = 0; i < FAKE_NAMED; i++) memcpy(&fake.value[i], parameters[i], 8);
    fake.groups = gx;
    fake.threads = bx;
    fake.launches++;
    return 0;
}

/* Attribute 6 with the value 1: the kernel may start before the one in front of it has ended. */
int cuLaunchKernelEx(const struct config *c, void *function, void **parameters, void **extra)
{
    if (c->count != 1 || c->attributes[0].id != 6 || c->attributes[0].value[0] != 1) fake.bad++;
    fake.overlapped++;
    return cuLaunchKernel(function, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2], c->shared, c->stream,
                          parameters, extra);
}

/* A graph has as many bytes as launches were recorded. */
int cuStreamBeginCapture_v2(void *stream, int mode)
{
    CALL();
    if ((mode && mode != 2) || !find(stream, FAKE_STREAMS) || fake.capturing) return 1;
    fake.capturing = 1;
    fake.captured = stream;
    fake.lost = 0;
    fake.recorded = fake.launches;
    return 0;
}

int cuStreamEndCapture(void *stream, void **graph)
{
    if (!fake.capturing || !find(stream, FAKE_STREAMS)) return 1;
    fake.capturing = 0;
    fake.captured = NULL;
    *graph = NULL;
    if (fake.lost) return 901; /* CUDA_ERROR_STREAM_CAPTURE_INVALIDATED */
    CALL();
    *graph = give(FAKE_GRAPHS, (size_t)(fake.launches - fake.recorded));
    fake.launches = fake.recorded;
    return 0;
}

int cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long flags)
{
    thing *t = find(graph, FAKE_GRAPHS);
    CALL();
    if (!t || flags) return 1;
    *executable = give(FAKE_GRAPHS, t->bytes);
    return 0;
}

int cuGraphLaunch(void *executable, void *stream)
{
    thing *t = find(executable, FAKE_GRAPHS);
    CALL();
    FORBIDDEN_WHILE_CAPTURED();
    if (!t || !find(stream, FAKE_STREAMS)) return 1;
    fake.launches += (int)t->bytes;
    return 0;
}

int cuGraphExecDestroy(void *executable) { return take_back(find(executable, FAKE_GRAPHS)); }
int cuGraphDestroy(void *graph) { return take_back(find(graph, FAKE_GRAPHS)); }

int cuEventCreate(void **event, unsigned flags)
{
    CALL();
    FORBIDDEN_WHILE_CAPTURED();
    *event = give(FAKE_EVENTS, 0);
    return flags != 0 && flags != 2; /* 2: CU_EVENT_DISABLE_TIMING */
}

int cuEventDestroy_v2(void *event) { return take_back(find(event, FAKE_EVENTS)); }
int cuEventRecord(void *event, void *stream) { CALL(); return !find(event, FAKE_EVENTS) || !find(stream, FAKE_STREAMS); }
int cuEventSynchronize(void *event) { CALL(); return !find(event, FAKE_EVENTS); }

int cuEventElapsedTime(float *milliseconds, void *begin, void *end)
{
    CALL();
    *milliseconds = 2.5f;
    return !find(begin, FAKE_EVENTS) || !find(end, FAKE_EVENTS);
}

/* The event may be one of another context. */
int cuStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    thing *t = things;
    CALL();
    while (t && (t != event || t->kind != FAKE_EVENTS)) t = t->next;
    return !t || flags || !find(stream, FAKE_STREAMS);
}

int cuMemHostAlloc(void **at, size_t bytes, unsigned flags)
{
    CALL();
    FORBIDDEN_WHILE_CAPTURED();
    if (!bytes || flags != 1) fake.bad++; /* CU_MEMHOSTALLOC_PORTABLE */
    *at = ((thing *)give(FAKE_PINNED, bytes))->data;
    return 0;
}

int cuMemFreeHost(void *at)
{
    thing *t = things;
    while (t && !(t->kind == FAKE_PINNED && t->data == at)) t = t->next;
    return take_back(t);
}

/* 704: CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, which must not count as a failure. */
int cuCtxEnablePeerAccess(void *context, unsigned flags) { return flags || context == fake.current ? 1 : 704; }

int cuMemcpyPeerAsync(unsigned long long to, void *to_context, unsigned long long from, void *from_context, size_t bytes, void *stream)
{
    thing *a, *b;
    CALL();
    a = at_address(to);
    b = at_address(from);
    find(stream, FAKE_STREAMS);
    if (!a || !b || a->context != to_context || b->context != from_context ||
        bytes > a->bytes - (size_t)(to - (unsigned long long)a->data) ||
        bytes > b->bytes - (size_t)(from - (unsigned long long)b->data)) {
        fake.bad++;
        return 1;
    }
    memcpy((void *)to, (void *)from, bytes);
    fake.peers++;
    return 0;
}

/* For tests in other languages. */
int fake_bad(void) { return fake.bad; }
int fake_settled(void) { return fake.settled; }
int fake_launches(void) { return fake.launches; }
int fake_alive(int kind) { return fake.alive[kind]; }
void *fake_stream(void) { return fake.stream; }

/* 1: the latest launch has this among the arguments that every kernel of a product has. */
int fake_given(unsigned long long value)
{
    int i = 0;
    while (i < FAKE_NAMED && fake.value[i] != value) i++;
    return i < FAKE_NAMED;
}

/* NVIDIA's NVRTC asks for it; the real one gives tables of functions that no header declares. */
int cuGetExportTable(const void **table, const void *id) { (void)id; *table = NULL; return 1; }

#else
#undef CALL
#define CALL() do { if (fails(__func__)) return fake.error == 2 ? 1 : 11; } while (0)

int nvrtcGetNumSupportedArchs(int *count) { CALL(); *count = 3; return 0; }
int nvrtcGetSupportedArchs(int *archs) { CALL(); memcpy(archs, fake.archs, sizeof fake.archs); return 0; }

/* A program is its text. */
int nvrtcCreateProgram(void **program, const char *text, const char *name, int headers, const char *const *header,
                       const char *const *include)
{
    CALL();
    if (!name || headers || header || include) fake.bad++;
    *program = strcpy((char *)malloc(strlen(text) + 1), text);
    fake.alive[FAKE_PROGRAMS]++;
    return 0;
}

int nvrtcDestroyProgram(void **program)
{
    free(*program);
    *program = NULL;
    fake.alive[FAKE_PROGRAMS]--;
    return 0;
}

/* May be called in several threads at once. */
int nvrtcCompileProgram(void *program, int options, const char *const *option)
{
    static int busy;
    char all[sizeof fake.options];
    int i, failed;
    while (__sync_lock_test_and_set(&busy, 1)) {}
    failed = fails(__func__);
    __sync_lock_release(&busy);
    if (failed) return fake.error == 2 ? 1 : 11;
    for (i = 0; i < options; i++)
        if (fake.old && !strcmp(option[i], "--minimal")) return 5; /* NVRTC_ERROR_INVALID_OPTION */
    for (*all = 0, i = 0; i < options; i++) {
        strncat(all, option[i], sizeof all - strlen(all) - 1);
        strncat(all, " ", sizeof all - strlen(all) - 1);
    }
    while (__sync_lock_test_and_set(&busy, 1)) {}
    memcpy(fake.options, all, sizeof all);
    __sync_lock_release(&busy);
    return fake.reject && strstr((char *)program, fake.reject) ? 6 : 0;
}

int nvrtcGetCUBINSize(void *program, size_t *bytes) { CALL(); *bytes = 5; return !program; }
int nvrtcGetCUBIN(void *program, char *image) { CALL(); memcpy(image, "\177ELF", 5); return !program; }
int nvrtcGetPTXSize(void *program, size_t *bytes) { CALL(); *bytes = 8; return !program; }
int nvrtcGetPTX(void *program, char *image) { CALL(); memcpy(image, ".target", 8); return !program; }
int nvrtcGetProgramLogSize(void *program, size_t *bytes) { CALL(); *bytes = 13; return !program; }
int nvrtcGetProgramLog(void *program, char *text) { CALL(); memcpy(text, "what is that", 13); return !program; }
#endif
