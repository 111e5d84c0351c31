/* SPDX-License-Identifier: MIT
 *
 * spmv/device/cuda.h - the bodies of spmv_cuda.h.
 */
#ifndef SPMV__DEVICE_CUDA_H
#define SPMV__DEVICE_CUDA_H

#include "load.h"

#include <string.h>
#ifdef _WIN32
#  define SPMV__CUDA_CALL __stdcall
#else
#  define SPMV__CUDA_CALL
#endif

/* ---- the driver and the compiler, loaded at run time ----------------------------------------------------------------
 * X(symbol, (parameters)): the functions that are called. All return an int, which is a CUresult or an nvrtcResult. Handles are void *,
 * a CUdevice is an int and a CUdeviceptr an unsigned long long. <cuda.h> has macros with the names of functions, so that the
 * members below have names of their own. */
#define SPMV__CUDA_DRIVER(X)                                                                                                  \
    X(cuInit, (unsigned flags)) X(cuDriverGetVersion, (int *version))                                                         \
    X(cuGetErrorName, (int code, const char **text)) X(cuGetErrorString, (int code, const char **text))                       \
    X(cuDeviceGetCount, (int *count)) X(cuDeviceGet, (int *device, int ordinal))                                              \
    X(cuDeviceGetName, (char *name, int size, int device)) X(cuDeviceTotalMem_v2, (size_t *bytes, int device))                \
    X(cuDeviceGetAttribute, (int *value, int attribute, int device))                                                          \
    X(cuDevicePrimaryCtxRetain, (void **context, int device)) X(cuDevicePrimaryCtxRelease_v2, (int device))                   \
    X(cuCtxGetCurrent, (void **context)) X(cuCtxPushCurrent_v2, (void *context)) X(cuCtxPopCurrent_v2, (void **context))      \
    X(cuCtxGetDevice, (int *device)) X(cuStreamGetCtx, (void *stream, void **context))                                        \
    X(cuThreadExchangeStreamCaptureMode, (int *mode))                                                                         \
    X(cuStreamCreate, (void **stream, unsigned flags)) X(cuStreamDestroy_v2, (void *stream))                                  \
    X(cuStreamCreateWithPriority, (void **stream, unsigned flags, int priority))                                              \
    X(cuStreamSynchronize, (void *stream)) X(cuStreamIsCapturing, (void *stream, int *status))                                \
    X(cuModuleLoadData, (void **module, const void *image)) X(cuModuleUnload, (void *module))                                 \
    X(cuLinkCreate_v2, (unsigned options, int *option, void **value, void **linker)) X(cuLinkDestroy, (void *linker))         \
    X(cuLinkAddData_v2, (void *linker, int type, void *data, size_t bytes, const char *name, unsigned options, int *option,   \
                         void **value))                                                                                       \
    X(cuLinkComplete, (void *linker, void **image, size_t *bytes))                                                            \
    X(cuModuleGetFunction, (void **function, void *module, const char *name))                                                 \
    X(cuFuncGetAttribute, (int *value, int attribute, void *function))                                                        \
    X(cuMemAlloc_v2, (unsigned long long *at, size_t bytes)) X(cuMemFree_v2, (unsigned long long at))                         \
    X(cuMemGetAddressRange_v2, (unsigned long long *begin, size_t *bytes, unsigned long long at))                             \
    X(cuPointerGetAttribute, (void *value, int attribute, unsigned long long at)) X(cuCtxSynchronize, (void))                 \
    X(cuMemcpyHtoDAsync_v2, (unsigned long long to, const void *from, size_t bytes, void *stream))                            \
    X(cuMemcpyDtoHAsync_v2, (void *to, unsigned long long from, size_t bytes, void *stream))                                  \
    X(cuMemsetD32Async, (unsigned long long at, unsigned word, size_t count, void *stream))                                   \
    X(cuLaunchKernel, (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,          \
                       unsigned shared, void *stream, void **parameters, void **extra))                                       \
    X(cuEventCreate, (void **event, unsigned flags)) X(cuEventDestroy_v2, (void *event))                                      \
    X(cuEventRecord, (void *event, void *stream)) X(cuEventSynchronize, (void *event))                                        \
    X(cuEventElapsedTime, (float *milliseconds, void *begin, void *end))                                                      \
    X(cuStreamWaitEvent, (void *stream, void *event, unsigned flags))                                                         \
    X(cuMemHostAlloc, (void **at, size_t bytes, unsigned flags)) X(cuMemFreeHost, (void *at))                                 \
    X(cuCtxEnablePeerAccess, (void *context, unsigned flags))                                                                 \
    X(cuMemcpyPeerAsync, (unsigned long long to, void *to_context, unsigned long long from, void *from_context, size_t bytes, \
                          void *stream))

#define SPMV__CUDA_COMPILER(X)                                                                                                \
    X(nvrtcGetNumSupportedArchs, (int *count)) X(nvrtcGetSupportedArchs, (int *archs))                                        \
    X(nvrtcCreateProgram, (void **program, const char *text, const char *name, int headers, const char *const *header,        \
                           const char *const *include))                                                                       \
    X(nvrtcCompileProgram, (void *program, int options, const char *const *option)) X(nvrtcDestroyProgram, (void **program))  \
    X(nvrtcGetCUBINSize, (void *program, size_t *bytes)) X(nvrtcGetCUBIN, (void *program, char *image))                       \
    X(nvrtcGetPTXSize, (void *program, size_t *bytes)) X(nvrtcGetPTX, (void *program, char *image))                           \
    X(nvrtcGetProgramLogSize, (void *program, size_t *bytes)) X(nvrtcGetProgramLog, (void *program, char *text))

/* A launch with attributes, as in <cuda.h>: CUlaunchAttribute and CUlaunchConfig. */
typedef struct spmv__cuda_attribute {
    int id, unused;
    int value[16];
} spmv__cuda_attribute;
typedef struct spmv__cuda_config {
    unsigned grid[3], block[3], shared;
    void    *stream;
    spmv__cuda_attribute *attributes;
    unsigned count;
} spmv__cuda_config;

/* The only state that is not an object's. */
static struct spmv__cuda_loaded {
    spmv__loading driver, compiler;
    int  version;          /* of CUDA that the driver supports: 13000 is 13.0 */
#define X(name, parameters) int (SPMV__CUDA_CALL *p_##name) parameters;
    SPMV__CUDA_DRIVER(X)
    SPMV__CUDA_COMPILER(X)
#undef X
    int (SPMV__CUDA_CALL *p_cuLaunchKernelEx)(const spmv__cuda_config *config, void *function, void **parameters, void **extra);
    /* NULL before CUDA 12.3, from which on graphs capture it as well */
} spmv__cuda_api;

#define X(name, parameters) { #name, &spmv__cuda_api.p_##name },
static const spmv__wanted spmv__cuda_driver[] = { SPMV__CUDA_DRIVER(X) { NULL, NULL } };
static const spmv__wanted spmv__cuda_compiler[] = { SPMV__CUDA_COMPILER(X) { NULL, NULL } };
#undef X

/* CUDA_ERROR_...; NO_DRIVER: what was loaded is the library of the toolkit that programs are linked with where no driver is. */
enum { SPMV__CUDA_NO_MEMORY = 2, SPMV__CUDA_NO_DRIVER = 34, SPMV__CUDA_NO_DEVICE = 100 };

/* Every result of the driver comes through here. */
static spmv_status spmv__cuda_result(const spmv_hooks *hooks, const char *call, int e)
{
    const char *name = NULL, *text = NULL;
    spmv_status s = e == SPMV__CUDA_NO_MEMORY ? SPMV_ERR_MEMORY : SPMV_ERR_BACKEND;
    if (!e) return SPMV_OK;
    if (spmv__cuda_api.p_cuGetErrorName(e, &name)) name = NULL;
    if (spmv__cuda_api.p_cuGetErrorString(e, &text)) text = NULL;
    return spmv_log(hooks, s, "%s: %s (%d): %s", call, name ? name : "unknown error", e, text ? text : "");
}
#define SPMV__CUDA(h, name, arguments) spmv__cuda_result((h), #name, spmv__cuda_api.p_##name arguments)

#ifdef _WIN32
#  define SPMV__CUDA_FILE "nvcuda.dll"
#else
#  define SPMV__CUDA_FILE "libcuda.so.1"
#endif

/* Loads the driver and starts it. */
static int spmv__cuda_load_driver(const spmv_hooks *hooks)
{
    enum { GRAPHS_WITH_OVERLAP = 12030 }; /* CUDA 12.3 */
    struct spmv__cuda_loaded *api = &spmv__cuda_api;
    void *library = spmv__library(SPMV__CUDA_FILE);
    int e;
    if (!library) return SPMV__LOAD_ABSENT;
    if (sizeof library < 8 || !spmv__symbols(library, "the CUDA driver", spmv__cuda_driver, hooks)) return SPMV__LOAD_FAILED;
    e = spmv__cuda_api.p_cuInit(0);
    if (e == SPMV__CUDA_NO_DEVICE || e == SPMV__CUDA_NO_DRIVER || spmv__cuda_result(hooks, "cuInit", e)) return SPMV__LOAD_FAILED;
    if (SPMV__CUDA(hooks, cuDriverGetVersion, (&api->version))) return SPMV__LOAD_FAILED;
    if (api->version >= GRAPHS_WITH_OVERLAP) spmv__symbol(library, "cuLaunchKernelEx", &api->p_cuLaunchKernelEx);
    return SPMV__LOADED;
}

/* Loads NVRTC, of the driver's version, so that the driver takes what it compiles, or an older one. From 11.2 on there is
 * one for each major version. */
static int spmv__cuda_load_compiler(const spmv_hooks *hooks)
{
    void *library = NULL;
    char name[64];
    int major;
    for (major = spmv__cuda_api.version / 1000; !library && major >= 11; major--) {
#ifdef _WIN32
        spmv_print(name, sizeof name, "nvrtc64_%d_0.dll", major == 11 ? 112 : 10 * major);
#else
        spmv_print(name, sizeof name, major == 11 ? "libnvrtc.so.%d.2" : "libnvrtc.so.%d", major);
#endif
        library = spmv__library(name);
    }
#ifndef _WIN32
    if (!library) library = spmv__library("libnvrtc.so");
    if (!library) library = spmv__library("/usr/local/cuda/lib64/libnvrtc.so");
#endif
    return library && spmv__symbols(library, "NVRTC", spmv__cuda_compiler, hooks) ? SPMV__LOADED : SPMV__LOAD_FAILED;
}

/* 1 if the driver, and where wanted the compiler, is there. */
static int spmv__cuda_ready(int compiler, const spmv_hooks *hooks)
{
    return spmv__load_once(&spmv__cuda_api.driver, spmv__cuda_load_driver, hooks) &&
           (!compiler || spmv__load_once(&spmv__cuda_api.compiler, spmv__cuda_load_compiler, hooks));
}

/* ---- devices ----------------------------------------------------------------------------------------------------- */

/* info.id is the ordinal plus 1, so that it is not NULL. */
static void *spmv__cuda_id(int device) { return (void *)(uintptr_t)(device + 1); }
static int spmv__cuda_device(const spmv_device *device) { return (int)(uintptr_t)device->info.id - 1; }

/* info.platform_id tells what close has to release. */
enum { SPMV__CUDA_CONTEXT = 1, SPMV__CUDA_STREAM = 2 };

static spmv_status spmv__cuda_describe(spmv_device_info *out, int device, const spmv_hooks *hooks)
{
    enum { THREADS, SHARED, PROCESSORS, UNIFIED, CLOCK, WIDTH, CACHE, MAJOR, MINOR, COUNT };
    /* CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, _MAX_SHARED_MEMORY_PER_BLOCK, _MULTIPROCESSOR_COUNT, _INTEGRATED,
     * _MEMORY_CLOCK_RATE, _GLOBAL_MEMORY_BUS_WIDTH, _L2_CACHE_SIZE, _COMPUTE_CAPABILITY_MAJOR, _COMPUTE_CAPABILITY_MINOR */
    static const int attribute[COUNT] = { 1, 8, 16, 18, 36, 37, 38, 75, 76 };
    int value[COUNT] = { 0 }, version = spmv__cuda_api.version, i;
    size_t bytes = 0;
    spmv_status s;
    memset(out, 0, sizeof *out);
    out->backend = spmv_cuda();
    out->id = spmv__cuda_id(device);
    s = SPMV__CUDA(hooks, cuDeviceGetName, (out->name, (int)sizeof out->name, device));
    if (!s) s = SPMV__CUDA(hooks, cuDeviceTotalMem_v2, (&bytes, device));
    for (i = 0; !s && i < COUNT; i++) s = SPMV__CUDA(hooks, cuDeviceGetAttribute, (&value[i], attribute[i], device));
    out->type = SPMV_DEVICE_GPU;
    out->group_size = (uint64_t)value[THREADS];
    out->local_bytes = (uint64_t)value[SHARED];
    out->compute_units = (unsigned)value[PROCESSORS];
    out->unified = value[UNIFIED] != 0;
    out->cache_bytes = (uint64_t)value[CACHE];
    out->memory_rate = 2e3 * value[CLOCK] * (value[WIDTH] / 8) * 1e-9; /* the clock is in kHz, and each tick moves two words */
    out->address_bits = 64;
    out->global_bytes = out->alloc_bytes = bytes;
    out->f64 = out->profiling = out->atomics64 = 1;
    out->nvidia = (unsigned)(10 * value[MAJOR] + value[MINOR]);
    spmv_print(out->vendor, sizeof out->vendor, "NVIDIA Corporation");
    spmv_print(out->platform, sizeof out->platform, "CUDA");
    spmv_print(out->version, sizeof out->version, "compute capability %d.%d", value[MAJOR], value[MINOR]);
    spmv_print(out->driver, sizeof out->driver, "CUDA %d.%d", version / 1000, version % 1000 / 10);
    return s;
}

static const char *spmv__cuda_absent(void)
{
    return spmv__cuda_api.driver.state == SPMV__LOAD_ABSENT ? "no CUDA driver was found (" SPMV__CUDA_FILE ")"
                                                            : "the driver is too old, does not start, or finds no GPU";
}

static spmv_status spmv__cuda_list(spmv_device_info *out, size_t max, size_t *count, const spmv_hooks *hooks)
{
    spmv_device_info info;
    int i, device, n = 0;
    *count = 0;
    if (!spmv__cuda_ready(0, hooks) || SPMV__CUDA(hooks, cuDeviceGetCount, (&n))) return SPMV_OK;
    for (i = 0; i < n; i++) {
        if (SPMV__CUDA(hooks, cuDeviceGet, (&device, i)) || spmv__cuda_describe(&info, device, hooks)) continue;
        if (*count < max) out[*count] = info;
        ++*count;
    }
    return SPMV_OK;
}

/* ---- devices: context and stream ----------------------------------------------------------------------------------- */

/* What a thread had before a call: its capture mode, and, where pushed is 1, another context. */
typedef struct spmv__cuda_before {
    int mode, pushed;
} spmv__cuda_before;

/* Makes the device's context current in this thread, and its capture mode relaxed, in which no call invalidates what another thread
 * captures in the global mode. spmv__cuda_leave restores both, also after a failure. */
static spmv_status spmv__cuda_enter(const spmv_device *device, spmv__cuda_before *before)
{
    enum { RELAXED = 2 }; /* CU_STREAM_CAPTURE_MODE_RELAXED */
    void *now = NULL;
    spmv_status s;
    before->mode = RELAXED;
    before->pushed = 0;
    spmv__cuda_api.p_cuThreadExchangeStreamCaptureMode(&before->mode);
    s = SPMV__CUDA(&device->hooks, cuCtxGetCurrent, (&now));
    if (s || now == device->context) return s;
    s = SPMV__CUDA(&device->hooks, cuCtxPushCurrent_v2, (device->context));
    before->pushed = !s;
    return s;
}

static void spmv__cuda_leave(spmv__cuda_before *before)
{
    void *own;
    if (before->pushed) spmv__cuda_api.p_cuCtxPopCurrent_v2(&own);
    spmv__cuda_api.p_cuThreadExchangeStreamCaptureMode(&before->mode);
}

/* Calls the driver in d's context if s is SPMV_OK; s becomes the result. */
#define SPMV__CUDA_IN(s, d, name, arguments)                                                                \
    do {                                                                                                    \
        spmv__cuda_before before_;                                                                          \
        if (s) break;                                                                                       \
        (s) = spmv__cuda_enter((d), &before_);                                                              \
        if (!(s)) (s) = spmv__cuda_result(&(d)->hooks, #name, spmv__cuda_api.p_##name arguments);           \
        spmv__cuda_leave(&before_);                                                                         \
    } while (0)

/* The caller's context or stream. */
static spmv_status spmv__cuda_adopt(spmv_device *on, const spmv_device_desc *desc)
{
    const spmv_hooks *hooks = &on->hooks;
    void *context = desc->context;
    int device = 0;
    spmv_status s = SPMV_OK;
    if (desc->queue) s = SPMV__CUDA(hooks, cuStreamGetCtx, (desc->queue, &context));
    if (s) return s;
    if (!context || (desc->context && desc->context != context))
        return spmv_log(hooks, SPMV_ERR_ARGUMENT, "a context or a stream must be given, and both must belong together");
    on->context = context;
    on->queue = desc->queue;
    SPMV__CUDA_IN(s, on, cuCtxGetDevice, (&device));
    if (!s && desc->id && desc->id != spmv__cuda_id(device))
        s = spmv_log(hooks, SPMV_ERR_ARGUMENT, "the context is one of device %d, not of the one given", device);
    return s ? s : spmv__cuda_describe(&on->info, device, hooks);
}

static spmv_status spmv__cuda_open(spmv_device *device, const spmv_device_desc *desc)
{
    const spmv_hooks *hooks = &device->hooks;
    void *made = NULL;
    spmv_status s;
    if (!spmv__cuda_ready(0, hooks)) return spmv_log(hooks, SPMV_ERR_NO_DEVICE, "CUDA: %s", spmv__cuda_absent());
    if (desc->context || desc->id || desc->queue) {
        s = spmv__cuda_adopt(device, desc);
    } else {
        s = SPMV__CUDA(hooks, cuDevicePrimaryCtxRetain, (&made, spmv__cuda_device(device)));
        if (!s) device->context = made;
        if (!s) device->info.platform_id = (void *)(uintptr_t)SPMV__CUDA_CONTEXT;
    }
    if (s || device->queue) return s;
    SPMV__CUDA_IN(s, device, cuStreamCreate, (&made, 0));
    if (!s) device->queue = made;
    if (!s) device->info.platform_id = (void *)((uintptr_t)device->info.platform_id | SPMV__CUDA_STREAM);
    return s;
}

static void spmv__cuda_close(spmv_device *device)
{
    spmv_status s = SPMV_OK;
    uintptr_t own = (uintptr_t)device->info.platform_id;
    if (own & SPMV__CUDA_STREAM) SPMV__CUDA_IN(s, device, cuStreamDestroy_v2, (device->queue));
    if (own & SPMV__CUDA_CONTEXT) SPMV__CUDA(&device->hooks, cuDevicePrimaryCtxRelease_v2, (spmv__cuda_device(device)));
}

/* ---- programs ------------------------------------------------------------------------------------------------------- */

/* NVRTC has no other messages than these numbers beside the log. */
static spmv_status spmv__nvrtc_result(const spmv_hooks *hooks, const char *call, int e)
{
    if (!e) return SPMV_OK;
    return spmv_log(hooks, e == 1 /* NVRTC_ERROR_OUT_OF_MEMORY */ ? SPMV_ERR_MEMORY : SPMV_ERR_BUILD, "%s: error %d of NVRTC", call, e);
}
#define SPMV__NVRTC(h, name, arguments) spmv__nvrtc_result((h), #name, spmv__cuda_api.p_##name arguments)

/* The highest architecture that NVRTC compiles for and the device runs. */
static spmv_status spmv__cuda_arch(const spmv_device *device, int *arch)
{
    enum { MOST = 128 }; /* NVRTC 13.0 has 12 */
    int n = 0, i, list[MOST];
    spmv_status s = SPMV__NVRTC(&device->hooks, nvrtcGetNumSupportedArchs, (&n));
    if (!s && n <= MOST) s = SPMV__NVRTC(&device->hooks, nvrtcGetSupportedArchs, (list));
    for (i = *arch = 0; !s && i < n && n <= MOST; i++)
        if (list[i] <= (int)device->info.nvidia && list[i] > *arch) *arch = list[i];
    if (s || *arch) return s;
    return spmv_log(&device->hooks, SPMV_ERR_BUILD, "NVRTC does not compile for %s of %s: that of an older CUDA toolkit may",
                    device->info.version, device->info.name);
}

static char *spmv__cuda_append(char *at, const void *text, size_t size)
{
    memcpy(at, text, size);
    return at + size;
}

/* Writes "-DNAME=VALUE -DNAME" as #define lines, which take at most four times the room; returns the end. */
static char *spmv__cuda_defines(char *at, const char *options)
{
    while (*options) {
        size_t n = strcspn(options, " "), name = strcspn(options, " =");
        if (!strncmp(options, "-D", 2)) {
            at = spmv__cuda_append(at, "#define ", 8);
            at = spmv__cuda_append(at, options + 2, name - 2);
            *at++ = ' ';
            at = name < n ? spmv__cuda_append(at, options + name + 1, n - name - 1) : spmv__cuda_append(at, "1", 1);
            *at++ = '\n';
        }
        options += n + strspn(options + n, " ");
    }
    return at;
}

/* Macros, the prelude and the source as one string; NULL: no memory. */
static char *spmv__cuda_text(const spmv_device *device, const spmv_kernel_source *source)
{
    static const char first[] = "#line 1 \"kernels/cuda.cuh\"\n";
    uint64_t size = 4 * (strlen(source->options) + 3) + sizeof first + sizeof spmv__src_cuda + 2;
    size_t piece;
    unsigned i;
    char *text, *at;
    for (i = 0; i < source->count; i++) size += source->size[i];
    text = (char *)spmv_alloc(&device->hooks, size, 1);
    if (!text) {
        spmv__no_memory(&device->hooks, size, 1);
        return NULL;
    }
    at = spmv__cuda_append(text, first, sizeof first - 1);
    for (piece = 0; piece < sizeof spmv__src_cuda / sizeof spmv__src_cuda[0]; piece++)
        at = spmv__cuda_append(at, spmv__src_cuda[piece], strlen(spmv__src_cuda[piece]));
    at = spmv__cuda_defines(at, source->options);
    for (i = 0; i < source->count; i++) at = spmv__cuda_append(at, source->text[i], source->size[i]);
    *at = 0;
    return text;
}

/* Logs that the program did not build, with the compiler's words. */
static spmv_status spmv__cuda_failed(const spmv_device *device, const spmv_kernel_source *source, void *program, int e)
{
    const struct spmv__cuda_loaded *api = &spmv__cuda_api;
    size_t size = 0;
    char *text = NULL;
    if (!api->p_nvrtcGetProgramLogSize(program, &size) && size) text = (char *)spmv_alloc(&device->hooks, size, 1);
    if (text && api->p_nvrtcGetProgramLog(program, text)) *text = 0;
    spmv_log(&device->hooks, SPMV_ERR_BUILD, "kernels/%s did not build with %s: error %d of NVRTC\n%s", source->file, source->options, e,
             text ? text : "");
    spmv_free(&device->hooks, text);
    return e == 1 ? SPMV_ERR_MEMORY : SPMV_ERR_BUILD;
}

/* A module, and the machine code or PTX that it was loaded from, since the driver does not return it. */
typedef struct spmv__cuda_program {
    void  *module, *image;
    size_t bytes;
} spmv__cuda_program;

/* A program that is being compiled. */
typedef struct spmv__cuda_job {
    const spmv_device        *device;
    const spmv_kernel_source *source;
    spmv__cuda_program       *made;
    void                     *compiler; /* NVRTC's program, or NULL */
    char                     *text;
    int                       arch, error; /* e: the result of compiling */
    spmv_status               status;
} spmv__cuda_job;

/* 1: NVRTC knows the device, and compiles to machine code; 0: to PTX, which the driver compiles. */
static int spmv__cuda_to_machine(const spmv__cuda_job *job) { return job->arch == (int)job->device->info.nvidia; }

/* Compiles, in any thread: it neither allocates by the device's hooks nor logs. Contraction is what OpenCL allows by default and kernels
 * with REPEAT forbid; theirs is written out. */
static void spmv__cuda_compile(void *all, uint64_t which)
{
    enum { INVALID_OPTION = 5 }; /* NVRTC_ERROR_... */
    spmv__cuda_job *job = (spmv__cuda_job *)all + which;
    char target[40];
    const char *options[3];
    if (job->status) return;
    spmv_print(target, sizeof target, "--gpu-architecture=%s_%d", spmv__cuda_to_machine(job) ? "sm" : "compute", job->arch);
    options[0] = target;
    options[1] = strstr(job->source->options, "-DREPEAT=1") ? "--fmad=false" : "--fmad=true";
    options[2] = "--minimal"; /* without what kernels do not use of CUDA: 10 of 37 ms of an empty program */
    job->error = spmv__cuda_api.p_nvrtcCompileProgram(job->compiler, 3, options);
    if (job->error == INVALID_OPTION) job->error = spmv__cuda_api.p_nvrtcCompileProgram(job->compiler, 2, options); /* an older NVRTC */
}

/* Copies what was compiled. */
static spmv_status spmv__cuda_take(spmv__cuda_job *job)
{
    const spmv_hooks *hooks = &job->device->hooks;
    const int machine = spmv__cuda_to_machine(job);
    size_t size = 0;
    void *image;
    spmv_status s;
    if (job->error) return spmv__cuda_failed(job->device, job->source, job->compiler, job->error);
    s = machine ? SPMV__NVRTC(hooks, nvrtcGetCUBINSize, (job->compiler, &size))
                : SPMV__NVRTC(hooks, nvrtcGetPTXSize, (job->compiler, &size));
    if (!s) s = spmv__room(hooks, &image, (uint64_t)size + 1, 1);
    if (s) return s;
    job->made->image = image;
    job->made->bytes = size;
    return machine ? SPMV__NVRTC(hooks, nvrtcGetCUBIN, (job->compiler, (char *)image))
                   : SPMV__NVRTC(hooks, nvrtcGetPTX, (job->compiler, (char *)image));
}

static void spmv__cuda_program_free(const spmv_device *device, void *handle)
{
    spmv__cuda_program *program = (spmv__cuda_program *)handle;
    spmv_status s = SPMV_OK;
    if (program->module) SPMV__CUDA_IN(s, device, cuModuleUnload, (program->module));
    spmv_free(&device->hooks, program->image);
    spmv_free(&device->hooks, program);
}

static int spmv__cuda_is_machine_code(const spmv__cuda_program *program)
{
    return program->bytes > 4 && !memcmp(program->image, "\177ELF", 4);
}

/* Copies the PTX of a program that is loaded, with the number of registers that each kernel has unless a number of groups says it. The
 * linker would give them more, as it compiles functions that may be called from elsewhere. */
static spmv_status spmv__cuda_limit(const spmv_device *device, const spmv__cuda_program *program, char **out)
{
    static const char entry[] = ".entry ";
    enum { REGISTERS = 4 /* CU_FUNC_ATTRIBUTE_NUM_REGS */, LIMIT = 24 };
    const char *from = (const char *)program->image, *at, *body, *bound, *groups;
    size_t bytes = strlen(from) + 1, n;
    char name[64], *to;
    void *block, *function = NULL;
    int registers = 0;
    spmv_status s;
    for (at = from; (at = strstr(at, entry)) != NULL; at++) bytes += LIMIT;
    s = spmv__room(&device->hooks, &block, bytes, 1);
    *out = to = (char *)block;
    for (at = from; !s && (at = strstr(at, entry)) != NULL; at = body) {
        body = strchr(at, '{');
        bound = strstr(at, ".maxntid");
        groups = strstr(at, ".minnctapersm");
        if (!body) break;
        if (!bound || bound > body || (groups && groups < body)) continue;
        at += sizeof entry - 1;
        n = strcspn(at, "(");
        if (n >= sizeof name) continue;
        *spmv__cuda_append(name, at, n) = 0;
        SPMV__CUDA_IN(s, device, cuModuleGetFunction, (&function, program->module, name));
        SPMV__CUDA_IN(s, device, cuFuncGetAttribute, (&registers, REGISTERS, function));
        to = spmv__cuda_append(to, from, (size_t)(bound - from));
        to += spmv_print(to, LIMIT, ".maxnreg %d ", registers);
        from = bound;
    }
    if (!s) spmv__cuda_append(to, from, strlen(from) + 1);
    return s;
}

/* Compiles the PTX of a program to machine code by the driver's linker, since that of its module is not to be had. */
static spmv_status spmv__cuda_link(const spmv_device *device, const spmv__cuda_program *program, void **image, size_t *bytes)
{
    enum { PTX = 1 }; /* CU_JIT_INPUT_PTX */
    void *linker = NULL, *code = NULL;
    char *ptx = NULL;
    spmv_status s = spmv__cuda_limit(device, program, &ptx), done = SPMV_OK;
    SPMV__CUDA_IN(s, device, cuLinkCreate_v2, (0, NULL, NULL, &linker));
    SPMV__CUDA_IN(s, device, cuLinkAddData_v2, (linker, PTX, ptx, strlen(ptx) + 1, NULL, 0, NULL, NULL));
    SPMV__CUDA_IN(s, device, cuLinkComplete, (linker, &code, bytes));
    if (!s) s = spmv__room(&device->hooks, image, *bytes, 1);
    if (!s) memcpy(*image, code, *bytes);
    if (linker) SPMV__CUDA_IN(done, device, cuLinkDestroy, (linker));
    spmv_free(&device->hooks, ptx);
    return s;
}

/* Makes all that compiling a program needs. */
static spmv_status spmv__cuda_begin(spmv__cuda_job *job)
{
    const spmv_hooks *hooks = &job->device->hooks;
    void *made = NULL;
    spmv_status s;
    if (!spmv__cuda_ready(1, hooks))
        return spmv_log(hooks, SPMV_ERR_BUILD,
                        "NVRTC, the compiler for kernels, was not found: install the CUDA toolkit, or tell the loader "
                        "where libnvrtc is (LD_LIBRARY_PATH)");
    s = spmv__cuda_arch(job->device, &job->arch);
    if (!s) s = spmv__new(hooks, &made, 1, sizeof(spmv__cuda_program), 0);
    if (s) return s;
    job->made = (spmv__cuda_program *)made;
    job->text = spmv__cuda_text(job->device, job->source);
    if (!job->text) return SPMV_ERR_MEMORY;
    return SPMV__NVRTC(hooks, nvrtcCreateProgram, (&job->compiler, job->text, job->source->file, 0, NULL, NULL));
}

/* Loads what was compiled and frees the rest. The program, or NULL after a failure. */
static void *spmv__cuda_end(spmv__cuda_job *job)
{
    spmv_status s = job->status ? job->status : spmv__cuda_take(job);
    if (job->compiler) spmv__cuda_api.p_nvrtcDestroyProgram(&job->compiler);
    spmv_free(&job->device->hooks, job->text);
    SPMV__CUDA_IN(s, job->device, cuModuleLoadData, (&job->made->module, job->made->image));
    job->status = s;
    if (!s) return job->made;
    if (job->made) spmv__cuda_program_free(job->device, job->made);
    return NULL;
}

/* spmv_backend.build: compiles one program in the calling thread. */
static spmv_status spmv__cuda_build(const spmv_device *device, const spmv_kernel_source *source, void **out)
{
    spmv__cuda_job job;
    void *made;
    memset(&job, 0, sizeof job);
    job.device = device;
    job.source = source;
    job.status = spmv__cuda_begin(&job);
    spmv__cuda_compile(&job, 0);
    made = spmv__cuda_end(&job);
    if (made) *out = made;
    return job.status;
}

/* From CUDA 12.3 on NVRTC does most of its work in any number of threads at once; before, one waits for the other. */
static void spmv__cuda_build_all(const spmv_device *device, const spmv_kernel_source *source, size_t count, void **out)
{
    void *block;
    spmv__cuda_job *job;
    size_t i;
    if (spmv__new(&device->hooks, &block, count, sizeof *job, 0)) return;
    job = (spmv__cuda_job *)block;
    for (i = 0; i < count; i++) {
        job[i].device = device;
        job[i].source = &source[i];
        job[i].status = spmv__cuda_begin(&job[i]);
    }
    spmv__share_out(spmv__cuda_compile, job, count);
    for (i = 0; i < count; i++) out[i] = spmv__cuda_end(&job[i]);
    spmv_free(&device->hooks, job);
}

/* A copy of the machine code or, if there is no other way, of the PTX. */
static spmv_status spmv__cuda_image_of(const spmv_device *device, void *handle, void **image, size_t *bytes)
{
    const spmv__cuda_program *program = (const spmv__cuda_program *)handle;
    spmv_device quiet = spmv__dev_quiet(device);
    spmv_status s;
    if (!spmv__cuda_is_machine_code(program) && !spmv__cuda_link(&quiet, program, image, bytes)) return SPMV_OK;
    *bytes = 0;
    s = spmv__room(&device->hooks, image, program->bytes, 1);
    if (s) return s;
    if (program->bytes) memcpy(*image, program->image, program->bytes);
    *bytes = program->bytes;
    return SPMV_OK;
}

/* The driver reads PTX up to a zero, which is put at the end of the copy. The compiler is not needed. */
static spmv_status spmv__cuda_load(const spmv_device *device, const char *options, const void *image, size_t bytes, void **out)
{
    void *made = NULL;
    spmv__cuda_program *program;
    spmv_status s = spmv__new(&device->hooks, &made, 1, sizeof *program, 0);
    (void)options;
    if (s) return s;
    program = (spmv__cuda_program *)made;
    s = spmv__new(&device->hooks, &program->image, (uint64_t)bytes + 1, 1, 0);
    if (!s) {
        memcpy(program->image, image, bytes);
        program->bytes = bytes;
    }
    SPMV__CUDA_IN(s, device, cuModuleLoadData, (&program->module, program->image));
    if (!s) *out = program;
    else spmv__cuda_program_free(device, program);
    return s;
}

/* ---- kernels -------------------------------------------------------------------------------------------------------- */

enum { SPMV__CUDA_ARGUMENTS = 32 };

/* A function with its arguments, each in 8 bytes, as a launch wants them. */
typedef struct spmv__cuda_kernel {
    void    *function;
    int      follows; /* 1: it waits by itself for the kernel before it in the stream (FOLLOW of kernels/cuda.cuh) */
    int      recorded; /* 1: it is of products, which may be captured into graphs */
    void    *argument[SPMV__CUDA_ARGUMENTS]; /* argument[i] is &value[i] */
    uint64_t value[SPMV__CUDA_ARGUMENTS];
} spmv__cuda_kernel;

static spmv_status spmv__cuda_new_kernel(const spmv_device *device, void *program, const char *name, void **out)
{
    spmv__cuda_kernel *kernel = (spmv__cuda_kernel *)spmv_alloc(&device->hooks, 1, sizeof *kernel);
    spmv_status s = SPMV_OK;
    int i;
    if (!kernel) return spmv__no_memory(&device->hooks, 1, sizeof *kernel);
    memset(kernel, 0, sizeof *kernel);
    for (i = 0; i < SPMV__CUDA_ARGUMENTS; i++) kernel->argument[i] = &kernel->value[i];
    kernel->follows = !strcmp(name, "spmv") || !strcmp(name, "finish") || !strcmp(name, "scale") || !strcmp(name, "tail"); /* of products */
    kernel->recorded = kernel->follows || !strcmp(name, "turn");
    SPMV__CUDA_IN(s, device, cuModuleGetFunction, (&kernel->function, ((spmv__cuda_program *)program)->module, name));
    if (s) spmv_free(&device->hooks, kernel);
    else *out = kernel;
    return s;
}

static void spmv__cuda_kernel_free(const spmv_device *device, void *kernel) { spmv_free(&device->hooks, kernel); }

static spmv_status spmv__cuda_kernel_limits(const spmv_device *device, void *kernel, uint64_t *group, uint64_t *local)
{
    enum { THREADS = 0, SHARED = 1 }; /* CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, _SHARED_SIZE_BYTES */
    void *function = ((spmv__cuda_kernel *)kernel)->function;
    int threads = 0, bytes = 0;
    spmv_status s = SPMV_OK;
    SPMV__CUDA_IN(s, device, cuFuncGetAttribute, (&threads, THREADS, function));
    SPMV__CUDA_IN(s, device, cuFuncGetAttribute, (&bytes, SHARED, function));
    *group = threads > 0 ? (uint64_t)threads : 0;
    *local = bytes > 0 ? (uint64_t)bytes : 0;
    return s;
}

static spmv_status spmv__cuda_argument(const spmv_device *device, void *kernel, unsigned index, const void *value, size_t size)
{
    spmv__cuda_kernel *entry = (spmv__cuda_kernel *)kernel;
    if (index >= SPMV__CUDA_ARGUMENTS || size > sizeof entry->value[0])
        return spmv_log(&device->hooks, SPMV_ERR_LIMIT, "argument %u of %llu bytes", index, (spmv__ull)size);
    memcpy(&entry->value[index], value, size);
    return SPMV_OK;
}

/* ---- buffers ------------------------------------------------------------------------------------------------------- */

static unsigned long long spmv__cuda_address(const void *buffer) { return (unsigned long long)(uintptr_t)buffer; }

/* SPMV_ERR_BUSY while a stream is captured: what is not a product is not for a graph, and waiting for the stream would end the capture. */
static spmv_status spmv__cuda_not_captured(const spmv_device *device, void *queue)
{
    int captured = 0;
    spmv_status s = SPMV_OK;
    SPMV__CUDA_IN(s, device, cuStreamIsCapturing, (queue, &captured));
    if (s || !captured) return s;
    return spmv_log(&device->hooks, SPMV_ERR_BUSY, "the stream is being captured into a graph, which takes only products");
}

static spmv_status spmv__cuda_finish(const spmv_device *device, void *queue)
{
    spmv_status s = spmv__cuda_not_captured(device, queue);
    SPMV__CUDA_IN(s, device, cuStreamSynchronize, (queue));
    return s;
}

static spmv_status spmv__cuda_write(const spmv_device *device, void *queue, void *buffer, uint64_t bytes, const void *from)
{
    spmv_status s = spmv__cuda_not_captured(device, queue);
    SPMV__CUDA_IN(s, device, cuMemcpyHtoDAsync_v2, (spmv__cuda_address(buffer), from, (size_t)bytes, queue));
    return s ? s : spmv__cuda_finish(device, queue);
}

/* The event after is of the same stream, which does all in order. */
static spmv_status spmv__cuda_read(const spmv_device *device, void *queue, void *buffer, uint64_t bytes, void *to, void *after)
{
    spmv_status s = spmv__cuda_not_captured(device, queue);
    (void)after;
    SPMV__CUDA_IN(s, device, cuMemcpyDtoHAsync_v2, (to, spmv__cuda_address(buffer), (size_t)bytes, queue));
    return s ? s : spmv__cuda_finish(device, queue);
}

static spmv_status spmv__cuda_fill(const spmv_device *device, void *queue, void *buffer, uint64_t bytes, uint32_t word)
{
    spmv_status s = spmv__cuda_not_captured(device, queue);
    SPMV__CUDA_IN(s, device, cuMemsetD32Async, (spmv__cuda_address(buffer), word, (size_t)(bytes / 4), queue));
    return s;
}

static void spmv__cuda_buffer_free(const spmv_device *device, void *buffer)
{
    spmv_status s = SPMV_OK;
    SPMV__CUDA_IN(s, device, cuMemFree_v2, (spmv__cuda_address(buffer)));
}

static spmv_status spmv__cuda_buffer(const spmv_device *device, uint64_t bytes, int read_only, const void *from, void **out)
{
    unsigned long long at = 0;
    spmv_status s = SPMV_OK;
    (void)read_only;
    SPMV__CUDA_IN(s, device, cuMemAlloc_v2, (&at, (size_t)bytes));
    if (s) return s;
    if (from) s = spmv__cuda_write(device, device->queue, (void *)(uintptr_t)at, bytes, from);
    if (s) spmv__cuda_buffer_free(device, (void *)(uintptr_t)at);
    else *out = (void *)(uintptr_t)at;
    return s;
}

/* Addresses can be calculated with. */
static void *spmv__cuda_within(void *buffer, uint64_t offset) { return (void *)(uintptr_t)(spmv__cuda_address(buffer) + offset); }

/* From the address on to the end of its allocation. */
static spmv_status spmv__cuda_buffer_bytes(const spmv_device *device, void *buffer, uint64_t *bytes)
{
    unsigned long long begin = 0, at = spmv__cuda_address(buffer);
    size_t size = 0;
    spmv_status s = SPMV_OK;
    SPMV__CUDA_IN(s, device, cuMemGetAddressRange_v2, (&begin, &size, at));
    *bytes = !s && at - begin < size ? size - (at - begin) : 0;
    return s;
}

/* ---- streams, launches, events ---------------------------------------------------------------------------------------- */

static spmv_status spmv__cuda_queue_keep(const spmv_device *device, void *queue, int *out_of_order, int *profiles)
{
    void *context = NULL;
    spmv_status s = SPMV_OK;
    SPMV__CUDA_IN(s, device, cuStreamGetCtx, (queue, &context)); /* the default streams are those of the context that is current */
    if (!s && context != device->context)
        s = spmv_log(&device->hooks, SPMV_ERR_ARGUMENT, "the stream is of another context than the matrix");
    *out_of_order = 0;
    *profiles = 1;
    return s;
}

static void spmv__cuda_queue_free(const spmv_device *device, void *queue)
{
    (void)device;
    (void)queue;
}

/* A point in a stream before and one behind a launch, in no more than one thread's hands. */
typedef struct spmv__cuda_span {
    void *begin, *end; /* CUevent */
    int   refs;
} spmv__cuda_span;

static void spmv__cuda_event_free(const spmv_device *device, void *event)
{
    spmv__cuda_span *span = (spmv__cuda_span *)event;
    spmv_status s = SPMV_OK;
    if (--span->refs) return;
    if (span->begin) SPMV__CUDA_IN(s, device, cuEventDestroy_v2, (span->begin));
    s = SPMV_OK;
    if (span->end) SPMV__CUDA_IN(s, device, cuEventDestroy_v2, (span->end));
    spmv_free(&device->hooks, span);
}

static spmv_status spmv__cuda_event_keep(const spmv_device *device, void *event)
{
    (void)device;
    ((spmv__cuda_span *)event)->refs++;
    return SPMV_OK;
}

/* Launches a kernel, before the one in front of it has ended where both device and driver can do that. */
static spmv_status spmv__cuda_enqueue(const spmv_device *device, void *queue, spmv__cuda_kernel *kernel, unsigned groups, unsigned wg)
{
    enum { PROGRAMMATIC_STREAM_SERIALIZATION = 6, HOPPER = 90 }; /* CU_LAUNCH_ATTRIBUTE_...; the first capability that has it */
    spmv_status s = SPMV_OK;
#ifdef SPMV_CUDA_NO_OVERLAP
    const int overlap = 0;
#else
    const int overlap = kernel->follows && device->info.nvidia >= HOPPER && spmv__cuda_api.p_cuLaunchKernelEx;
#endif
    if (overlap) {
        spmv__cuda_attribute attribute = { PROGRAMMATIC_STREAM_SERIALIZATION, 0, { 1 } };
        spmv__cuda_config config = { { 1, 1, 1 }, { 1, 1, 1 }, 0, NULL, NULL, 1 };
        config.grid[0] = groups;
        config.block[0] = wg;
        config.stream = queue;
        config.attributes = &attribute;
        SPMV__CUDA_IN(s, device, cuLaunchKernelEx, (&config, kernel->function, kernel->argument, NULL));
    } else {
        SPMV__CUDA_IN(s, device, cuLaunchKernel, (kernel->function, groups, 1, 1, wg, 1, 1, 0, queue, kernel->argument, NULL));
    }
    return s;
}

/* Launches, if there is a kernel; between the two points of a span, where an event is wanted. order is always empty: streams are in order,
 * and spmv_cuda_mul takes no events. */
static spmv_status spmv__cuda_launch(const spmv_device *device, void *queue, void *kernel, uint64_t groups, uint64_t wg,
                                     const spmv_order *order, void **event)
{
    const spmv_hooks *hooks = &device->hooks;
    spmv__cuda_kernel *entry = (spmv__cuda_kernel *)kernel;
    spmv__cuda_span *span = event ? (spmv__cuda_span *)spmv_alloc(hooks, 1, sizeof *span) : NULL;
    spmv_status s = event && !span ? spmv__no_memory(hooks, 1, sizeof *span) : SPMV_OK;
    (void)order;
    if (groups > 0x7fffffffu) s = spmv_log(hooks, SPMV_ERR_LIMIT, "%llu work-groups, CUDA takes 2147483647", (spmv__ull)groups);
    if (span) {
        memset(span, 0, sizeof *span);
        span->refs = 1;
        SPMV__CUDA_IN(s, device, cuEventCreate, (&span->begin, 0));
        SPMV__CUDA_IN(s, device, cuEventCreate, (&span->end, 0));
        SPMV__CUDA_IN(s, device, cuEventRecord, (span->begin, queue));
    }
    if (!s && entry && !entry->recorded) s = spmv__cuda_not_captured(device, queue);
    if (!s && entry) s = spmv__cuda_enqueue(device, queue, entry, (unsigned)groups, (unsigned)wg);
    if (span) SPMV__CUDA_IN(s, device, cuEventRecord, (span->end, queue));
    if (s && span) spmv__cuda_event_free(device, span);
    else if (event) *event = span;
    return s;
}

static spmv_status spmv__cuda_marker(const spmv_device *device, void *queue, const spmv_order *order, void **event)
{
    return spmv__cuda_launch(device, queue, NULL, 0, 0, order, event);
}

static spmv_status spmv__cuda_seconds(const spmv_device *device, void *first, void *last, double *seconds)
{
    void *begin = ((spmv__cuda_span *)first)->begin, *end = ((spmv__cuda_span *)last)->end;
    float milliseconds = 0;
    spmv_status s = SPMV_OK;
    SPMV__CUDA_IN(s, device, cuEventSynchronize, (end));
    SPMV__CUDA_IN(s, device, cuEventElapsedTime, (&milliseconds, begin, end));
    if (!s) *seconds = 1e-3 * (double)milliseconds;
    return s;
}

/* ---- several devices --------------------------------------------------------------------------------------------------- */

/* Before the device's own stream, whose priority is 0: what others wait for is not to queue behind the work-groups of a long product. */
static spmv_status spmv__cuda_queue_new(const spmv_device *device, void **out)
{
    enum { BEFORE = -1 };
    spmv_status s = SPMV_OK;
    SPMV__CUDA_IN(s, device, cuStreamCreateWithPriority, (out, 0, BEFORE));
    return s;
}

static void spmv__cuda_queue_end(const spmv_device *device, void *queue)
{
    spmv_status s = SPMV_OK;
    spmv__cuda_finish(device, queue);
    SPMV__CUDA_IN(s, device, cuStreamDestroy_v2, (queue));
}

static spmv_status spmv__cuda_pin(const spmv_device *device, uint64_t bytes, void **at, void **handle)
{
    enum { PORTABLE = 1 }; /* CU_MEMHOSTALLOC_PORTABLE: pinned for the other devices, too */
    spmv_status s = SPMV_OK;
    SPMV__CUDA_IN(s, device, cuMemHostAlloc, (at, (size_t)bytes, PORTABLE));
    if (!s) *handle = *at;
    return s;
}

static void spmv__cuda_unpin(const spmv_device *device, void *at, void *handle)
{
    spmv_status s = SPMV_OK;
    (void)handle;
    SPMV__CUDA_IN(s, device, cuMemFreeHost, (at));
}

static spmv_status spmv__cuda_get(const spmv_device *device, void *queue, void *buffer, uint64_t offset, uint64_t bytes, void *to)
{
    spmv_status s = SPMV_OK;
    SPMV__CUDA_IN(s, device, cuMemcpyDtoHAsync_v2, (to, spmv__cuda_address(buffer) + offset, (size_t)bytes, queue));
    return s;
}

static spmv_status spmv__cuda_put(const spmv_device *device, void *queue, void *buffer, uint64_t offset, uint64_t bytes, const void *from)
{
    spmv_status s = SPMV_OK;
    SPMV__CUDA_IN(s, device, cuMemcpyHtoDAsync_v2, (spmv__cuda_address(buffer) + offset, from, (size_t)bytes, queue));
    return s;
}

/* A point is a CUevent; waiting for one that was never recorded returns at once. */
static spmv_status spmv__cuda_point(const spmv_device *device, void **out)
{
    enum { NO_TIMING = 2 }; /* CU_EVENT_DISABLE_TIMING */
    spmv_status s = SPMV_OK;
    SPMV__CUDA_IN(s, device, cuEventCreate, (out, NO_TIMING));
    return s;
}

static void spmv__cuda_point_free(const spmv_device *device, void *point)
{
    spmv_status s = SPMV_OK;
    SPMV__CUDA_IN(s, device, cuEventDestroy_v2, (point));
}

static spmv_status spmv__cuda_point_set(const spmv_device *device, void *queue, void *point)
{
    spmv_status s = SPMV_OK;
    SPMV__CUDA_IN(s, device, cuEventRecord, (point, queue));
    return s;
}

static spmv_status spmv__cuda_follow(const spmv_device *device, void *queue, void *point)
{
    spmv_status s = SPMV_OK;
    SPMV__CUDA_IN(s, device, cuStreamWaitEvent, (queue, point, 0));
    return s;
}

static spmv_status spmv__cuda_point_wait(const spmv_device *device, void *point)
{
    spmv_status s = SPMV_OK;
    SPMV__CUDA_IN(s, device, cuEventSynchronize, (point));
    return s;
}

/* Without access of one device to the other's memory the driver copies through the host, which works as well. */
static spmv_status spmv__cuda_peer_open(const spmv_device *device, const spmv_device *other)
{
    spmv__cuda_before before;
    spmv_status s;
    if (device->context == other->context) return SPMV_OK;
    s = spmv__cuda_enter(device, &before);
    if (!s) spmv__cuda_api.p_cuCtxEnablePeerAccess(other->context, 0);
    spmv__cuda_leave(&before);
    return s;
}

static spmv_status spmv__cuda_peer(const spmv_device *device, void *queue, void *to, uint64_t to_offset, const spmv_device *other,
                                   void *from, uint64_t from_offset, uint64_t bytes)
{
    spmv_status s = SPMV_OK;
    SPMV__CUDA_IN(s, device, cuMemcpyPeerAsync, (spmv__cuda_address(to) + to_offset, device->context,
                                                 spmv__cuda_address(from) + from_offset, other->context, (size_t)bytes, queue));
    return s;
}

/* ---- the table --------------------------------------------------------------------------------------------------------- */

SPMV_API const spmv_backend *spmv_cuda(void)
{
    static const spmv_transfer transfer = {
        spmv__cuda_queue_new, spmv__cuda_queue_end, spmv__cuda_pin, spmv__cuda_unpin, spmv__cuda_get, spmv__cuda_put, NULL,
        spmv__cuda_point, spmv__cuda_point_free, spmv__cuda_point_set, spmv__cuda_follow, spmv__cuda_point_wait,
        spmv__cuda_peer_open, spmv__cuda_peer
    };
    static const spmv_backend table = {
        "CUDA", spmv__cuda_list, spmv__cuda_open, spmv__cuda_close,
        spmv__cuda_build, spmv__cuda_program_free, spmv__cuda_image_of, spmv__cuda_load,
        spmv__cuda_new_kernel, spmv__cuda_kernel_free, spmv__cuda_kernel_limits,
        spmv__cuda_argument, spmv__cuda_buffer, spmv__cuda_buffer_free, spmv__cuda_buffer_bytes, spmv__cuda_write, spmv__cuda_read,
        spmv__cuda_fill, spmv__cuda_queue_keep, spmv__cuda_queue_free, spmv__cuda_finish, spmv__cuda_launch, spmv__cuda_marker,
        spmv__cuda_event_keep, spmv__cuda_event_free, spmv__cuda_seconds,
        NULL, NULL, NULL, &transfer, spmv__cuda_build_all, spmv__cuda_within, spmv__cuda_absent
    };
    return &table;
}

SPMV_API spmv_status spmv_cuda_mul(spmv_exec *exec, double alpha, unsigned long long x, uint64_t x_offset, double beta,
                                   unsigned long long y, uint64_t y_offset)
{
    return spmv__exec_mul(exec, "spmv_cuda_mul", alpha, (void *)(uintptr_t)x, x_offset, beta, (void *)(uintptr_t)y, y_offset, 0, NULL,
                          NULL);
}

#endif
