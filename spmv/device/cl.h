/* SPDX-License-Identifier: MIT
 *
 * spmv/device/cl.h - the bodies of spmv_cl.h.
 */
#ifndef SPMV__DEVICE_CL_H
#define SPMV__DEVICE_CL_H

#include "load.h"

#include <string.h>

#ifdef SPMV__CL_FOUND
/* ---- the library, loaded at run time ------------------------------------------------------------------------------- */

#ifdef SPMV_CL_LINK
#  define SPMV__OPENCL(name) name
#else
#  define SPMV__OPENCL(name) spmv__cl_api.p_##name
#endif

/* X(symbol): the functions that are called. */
#define SPMV__CL_FUNCTIONS(X)                                                                                                 \
    X(clGetPlatformIDs) X(clGetPlatformInfo) X(clGetDeviceIDs) X(clGetDeviceInfo) X(clCreateContext) X(clRetainContext)       \
    X(clReleaseContext) X(clCreateCommandQueue) X(clRetainCommandQueue) X(clReleaseCommandQueue) X(clGetCommandQueueInfo)     \
    X(clFlush) X(clFinish) X(clCreateProgramWithSource) X(clCreateProgramWithBinary) X(clBuildProgram) X(clGetProgramInfo)    \
    X(clGetProgramBuildInfo) X(clReleaseProgram) X(clCreateKernel) X(clReleaseKernel) X(clGetKernelWorkGroupInfo)             \
    X(clSetKernelArg) X(clCreateBuffer) X(clCreateImage) X(clGetSupportedImageFormats) X(clRetainMemObject)                   \
    X(clReleaseMemObject) X(clGetMemObjectInfo) X(clSetMemObjectDestructorCallback) X(clEnqueueReadBuffer)                    \
    X(clEnqueueWriteBuffer) X(clEnqueueFillBuffer) X(clEnqueueMapBuffer) X(clEnqueueUnmapMemObject) X(clEnqueueNDRangeKernel) \
    X(clEnqueueMarkerWithWaitList) X(clEnqueueBarrierWithWaitList) X(clWaitForEvents) X(clGetEventProfilingInfo)              \
    X(clRetainEvent) X(clReleaseEvent)

#ifndef SPMV_CL_LINK
#if defined(_WIN32)
#  define SPMV__CL_FILE "OpenCL.dll"
#elif defined(__APPLE__)
#  define SPMV__CL_FILE "/System/Library/Frameworks/OpenCL.framework/OpenCL"
#else
#  define SPMV__CL_FILE "libOpenCL.so.1"
#endif

/* As spmv__cuda_api, state that is not an object's. The types of the functions are the header's. */
#ifdef __cplusplus
#  define SPMV__CL_TYPE(name) decltype(name)
#else
#  define SPMV__CL_TYPE(name) __typeof__(name)
#endif
static struct spmv__cl_loaded {
    spmv__loading library;
#define X(name) SPMV__CL_TYPE(&name) p_##name;
    SPMV__CL_FUNCTIONS(X)
#undef X
} spmv__cl_api;

/* A program that calls OpenCL itself, or a tool that watches it, has the functions already. */
static int spmv__cl_load_library(const spmv_hooks *hooks)
{
#define X(name) { #name, &spmv__cl_api.p_##name },
    static const spmv__wanted list[] = { SPMV__CL_FUNCTIONS(X) { NULL, NULL } };
#undef X
    void *library = NULL;
#ifndef _WIN32
    library = spmv__library(NULL);
    if (library && !spmv__symbol(library, list->name, list->at)) library = NULL;
#endif
    if (!library) library = spmv__library(SPMV__CL_FILE);
#if !defined(_WIN32) && !defined(__APPLE__)
    if (!library) library = spmv__library("libOpenCL.so");
#endif
    if (!library) return SPMV__LOAD_ABSENT;
    return spmv__symbols(library, "the OpenCL library", list, hooks) ? SPMV__LOADED : SPMV__LOAD_FAILED;
}
#endif

/* 1 if the library is there. */
static int spmv__cl_ready(const spmv_hooks *hooks)
{
#ifdef SPMV_CL_LINK
    (void)hooks;
    return 1;
#else
    return spmv__load_once(&spmv__cl_api.library, spmv__cl_load_library, hooks);
#endif
}

/* ---- the status of OpenCL calls ------------------------------------------------------------------------------------ */

/* OpenCL's name of an error, without "CL_". */
static const char *spmv__cl_error_name(cl_int error)
{
    static const char *const low[] = {
        "SUCCESS", "DEVICE_NOT_FOUND", "DEVICE_NOT_AVAILABLE", "COMPILER_NOT_AVAILABLE", "MEM_OBJECT_ALLOCATION_FAILURE",
        "OUT_OF_RESOURCES", "OUT_OF_HOST_MEMORY", "PROFILING_INFO_NOT_AVAILABLE", "MEM_COPY_OVERLAP", "IMAGE_FORMAT_MISMATCH",
        "IMAGE_FORMAT_NOT_SUPPORTED", "BUILD_PROGRAM_FAILURE", "MAP_FAILURE", "MISALIGNED_SUB_BUFFER_OFFSET",
        "EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST", "COMPILE_PROGRAM_FAILURE", "LINKER_NOT_AVAILABLE", "LINK_PROGRAM_FAILURE",
        "DEVICE_PARTITION_FAILED", "KERNEL_ARG_INFO_NOT_AVAILABLE" };
    static const char *const high[] = {
        "INVALID_VALUE", "INVALID_DEVICE_TYPE", "INVALID_PLATFORM", "INVALID_DEVICE", "INVALID_CONTEXT",
        "INVALID_QUEUE_PROPERTIES", "INVALID_COMMAND_QUEUE", "INVALID_HOST_PTR", "INVALID_MEM_OBJECT",
        "INVALID_IMAGE_FORMAT_DESCRIPTOR", "INVALID_IMAGE_SIZE", "INVALID_SAMPLER", "INVALID_BINARY", "INVALID_BUILD_OPTIONS",
        "INVALID_PROGRAM", "INVALID_PROGRAM_EXECUTABLE", "INVALID_KERNEL_NAME", "INVALID_KERNEL_DEFINITION", "INVALID_KERNEL",
        "INVALID_ARG_INDEX", "INVALID_ARG_VALUE", "INVALID_ARG_SIZE", "INVALID_KERNEL_ARGS", "INVALID_WORK_DIMENSION",
        "INVALID_WORK_GROUP_SIZE", "INVALID_WORK_ITEM_SIZE", "INVALID_GLOBAL_OFFSET", "INVALID_EVENT_WAIT_LIST",
        "INVALID_EVENT", "INVALID_OPERATION", "INVALID_GL_OBJECT", "INVALID_BUFFER_SIZE", "INVALID_MIP_LEVEL",
        "INVALID_GLOBAL_WORK_SIZE", "INVALID_PROPERTY", "INVALID_IMAGE_DESCRIPTOR", "INVALID_COMPILER_OPTIONS",
        "INVALID_LINKER_OPTIONS", "INVALID_DEVICE_PARTITION_COUNT" };
    if (error <= 0 && error > -(cl_int)(sizeof low / sizeof *low)) return low[-error];
    if (error <= -30 && error > -30 - (cl_int)(sizeof high / sizeof *high)) return high[-30 - error];
    return error == -1001 ? "PLATFORM_NOT_FOUND_KHR" : "unknown error";
}

/* Turns the result of an OpenCL call into a status, and logs it unless it is CL_SUCCESS. */
static spmv_status spmv__cl(const spmv_hooks *hooks, const char *call, cl_int error)
{
    spmv_status s = SPMV_ERR_BACKEND;
    if (error == CL_SUCCESS) return SPMV_OK;
    if (error == CL_OUT_OF_HOST_MEMORY || error == CL_MEM_OBJECT_ALLOCATION_FAILURE) s = SPMV_ERR_MEMORY;
    if (error == CL_INVALID_BUFFER_SIZE) s = SPMV_ERR_LIMIT;
    if (error == CL_DEVICE_NOT_FOUND || error == -1001) s = SPMV_ERR_NO_DEVICE;
    return spmv_log(hooks, s, "%s: CL_%s (%d)", call, spmv__cl_error_name(error), (int)error);
}
#define SPMV__CL(h, name, arguments) spmv__cl((h), #name, SPMV__OPENCL(name) arguments)

/* ---- devices ----------------------------------------------------------------------------------------------------- */

/* Reads a text about a device or, if id is NULL, a platform, and cuts it to size; "" if the query fails. */
static void spmv__cl_text(cl_device_id id, cl_platform_id platform, cl_uint what, char *out, size_t size)
{
    char text[16384] = ""; /* extensions of NVIDIA's and PoCL's devices take about 1000 */
    const size_t room = sizeof text - 1;
    cl_int error = id ? SPMV__OPENCL(clGetDeviceInfo)(id, what, room, text, NULL)
                      : SPMV__OPENCL(clGetPlatformInfo)(platform, what, room, text, NULL);
    spmv_print(out, size, "%s", error == CL_SUCCESS ? text : "");
}

/* Reads a number about a device, of 32 or 64 bits as OpenCL has it; 0 if the query fails. */
static cl_int spmv__cl_number(cl_device_id id, cl_device_info what, uint64_t *out)
{
    cl_uint v[2] = { 0, 0 };
    size_t bytes = 0;
    cl_int error = SPMV__OPENCL(clGetDeviceInfo)(id, what, sizeof v, v, &bytes);
    *out = v[0];
    if (bytes == sizeof v) memcpy(out, v, sizeof v);
    return error;
}

#ifndef CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV
#define CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV 0x4000
#define CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV 0x4001
#endif

/* Fills in what depends on extensions: atomics64 and nvidia. */
static void spmv__cl_describe_vendor(spmv_device_info *out)
{
    char text[16384];
    cl_device_id id = (cl_device_id)out->id;
    uint64_t major, minor;
    spmv__cl_text(id, NULL, CL_DEVICE_EXTENSIONS, text, sizeof text);
    out->atomics64 = spmv__dev_contains(text, "cl_khr_int64_base_atomics");
    if (!spmv__dev_contains(text, "cl_nv_device_attribute_query") || out->address_bits != 64) return;
    spmv__cl_text(NULL, (cl_platform_id)out->platform_id, CL_PLATFORM_NAME, text, sizeof text);
    if (!spmv__dev_contains(text, "NVIDIA")) return;
    if (spmv__cl_number(id, CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV, &major) == CL_SUCCESS &&
        spmv__cl_number(id, CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV, &minor) == CL_SUCCESS)
        out->nvidia = (unsigned)(10 * major + minor);
}

static spmv_device_type spmv__cl_type(uint64_t type)
{
    if (type & CL_DEVICE_TYPE_GPU) return SPMV_DEVICE_GPU;
    if (type & CL_DEVICE_TYPE_CPU) return SPMV_DEVICE_CPU;
    return type & CL_DEVICE_TYPE_ACCELERATOR ? SPMV_DEVICE_ACCELERATOR : SPMV_DEVICE_OTHER;
}

/* Fills in all of *out for a device. */
static spmv_status spmv__cl_describe(spmv_device_info *out, cl_device_id id, const spmv_hooks *hooks)
{
    enum { TYPE, QUEUE, IMAGES, UNIFIED, UNITS, BITS, GLOBAL, ALLOC, LOCAL, GROUP, COUNT };
    static const cl_device_info what[COUNT] = {
        CL_DEVICE_TYPE, CL_DEVICE_QUEUE_PROPERTIES, CL_DEVICE_IMAGE_SUPPORT, CL_DEVICE_HOST_UNIFIED_MEMORY, CL_DEVICE_MAX_COMPUTE_UNITS,
        CL_DEVICE_ADDRESS_BITS, CL_DEVICE_GLOBAL_MEM_SIZE, CL_DEVICE_MAX_MEM_ALLOC_SIZE, CL_DEVICE_LOCAL_MEM_SIZE,
        CL_DEVICE_MAX_WORK_GROUP_SIZE
    };
    uint64_t value[COUNT] = { 0 }, config;
    cl_platform_id platform = NULL;
    int i;
    spmv_status s;
    memset(out, 0, sizeof *out);
    out->backend = spmv_opencl();
    out->id = id;
    s = SPMV__CL(hooks, clGetDeviceInfo, (id, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL));
    for (i = 0; !s && i < COUNT; i++) s = spmv__cl(hooks, "clGetDeviceInfo", spmv__cl_number(id, what[i], &value[i]));
    if (!s && value[IMAGES]) spmv__cl_number(id, CL_DEVICE_IMAGE_MAX_BUFFER_SIZE, &out->image_texels);
    out->platform_id = platform;
    out->type = spmv__cl_type(value[TYPE]);
    out->profiling = (value[QUEUE] & CL_QUEUE_PROFILING_ENABLE) != 0;
    out->out_of_order = (value[QUEUE] & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0;
    out->unified = value[UNIFIED] == CL_TRUE;
    out->compute_units = (unsigned)value[UNITS];
    out->address_bits = (unsigned)value[BITS];
    out->global_bytes = value[GLOBAL];
    out->alloc_bytes = value[ALLOC];
    out->local_bytes = value[LOCAL];
    out->group_size = value[GROUP];
    out->f64 = spmv__cl_number(id, CL_DEVICE_DOUBLE_FP_CONFIG, &config) == CL_SUCCESS && config != 0;
    spmv__cl_describe_vendor(out);
    spmv__cl_text(id, NULL, CL_DEVICE_NAME, out->name, sizeof out->name);
    spmv__cl_text(id, NULL, CL_DEVICE_VENDOR, out->vendor, sizeof out->vendor);
    spmv__cl_text(id, NULL, CL_DEVICE_VERSION, out->version, sizeof out->version);
    spmv__cl_text(id, NULL, CL_DRIVER_VERSION, out->driver, sizeof out->driver);
    if (!s) spmv__cl_text(NULL, (cl_platform_id)out->platform_id, CL_PLATFORM_NAME, out->platform, sizeof out->platform);
    return s;
}

enum { SPMV__CL_PLATFORMS = 64, SPMV__CL_DEVICES = 256 /* of a platform or a context: further ones are not seen */ };

/* Adds the devices of one platform to the *count that are listed already. */
static void spmv__cl_list_platform(cl_platform_id platform, spmv_device_info *out, size_t max, size_t *count, const spmv_hooks *hooks)
{
    cl_device_id ids[SPMV__CL_DEVICES];
    cl_uint i, n = 0;
    cl_int error = SPMV__OPENCL(clGetDeviceIDs)(platform, CL_DEVICE_TYPE_ALL, SPMV__CL_DEVICES, ids, &n);
    if (error == CL_DEVICE_NOT_FOUND || spmv__cl(hooks, "clGetDeviceIDs", error)) return;
    for (i = 0; i < n && i < SPMV__CL_DEVICES; i++) {
        spmv_device_info info;
        if (spmv__cl_describe(&info, ids[i], hooks)) continue;
        if (*count < max) out[*count] = info;
        ++*count;
    }
}

/* Lists the devices of all platforms; a platform that fails is skipped. */
static spmv_status spmv__cl_list(spmv_device_info *out, size_t max, size_t *count, const spmv_hooks *hooks)
{
    cl_platform_id ids[SPMV__CL_PLATFORMS];
    cl_uint i, n = 0;
    cl_int error;
    *count = 0;
    if (!spmv__cl_ready(hooks)) return SPMV_OK;
    error = SPMV__OPENCL(clGetPlatformIDs)(SPMV__CL_PLATFORMS, ids, &n);
    if (error == -1001) return SPMV_OK;
    if (error != CL_SUCCESS) return spmv__cl(hooks, "clGetPlatformIDs", error);
    for (i = 0; i < n && i < SPMV__CL_PLATFORMS; i++) spmv__cl_list_platform(ids[i], out, max, count, hooks);
    return SPMV_OK;
}

static const char *spmv__cl_absent(void)
{
    cl_uint n = 0;
#ifndef SPMV_CL_LINK
    if (spmv__cl_api.library.state == SPMV__LOAD_ABSENT) return "no OpenCL library was found (" SPMV__CL_FILE ")";
    if (spmv__cl_api.library.state == SPMV__LOAD_FAILED) return "the OpenCL library is too old";
#endif
    return SPMV__OPENCL(clGetPlatformIDs)(0, NULL, &n) == CL_SUCCESS && n ? "no platform (driver) has a device"
                                                                        : "no platform (driver) was found";
}

/* ---- devices: context and queue ------------------------------------------------------------------------------------ */

/* Takes over the caller's context, device and queue, which it retains; the queue alone is enough. */
static spmv_status spmv__cl_adopt(spmv_device *device, const spmv_device_desc *desc)
{
    const spmv_hooks *hooks = &device->hooks;
    cl_context context = (cl_context)desc->context;
    cl_device_id id = (cl_device_id)desc->id;
    cl_command_queue queue = (cl_command_queue)desc->queue;
    spmv_status s = SPMV_OK;
    if (queue) {
        s = SPMV__CL(hooks, clGetCommandQueueInfo, (queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL));
        if (!s) s = SPMV__CL(hooks, clGetCommandQueueInfo, (queue, CL_QUEUE_DEVICE, sizeof id, &id, NULL));
    }
    if (s) return s;
    if (!context || !id || (desc->context && desc->context != context) || (desc->id && desc->id != id))
        return spmv_log(hooks, SPMV_ERR_ARGUMENT, "context and device must be given together, and must be those of the queue");
    s = spmv__cl_describe(&device->info, id, hooks);
    if (!s) s = SPMV__CL(hooks, clRetainContext, (context));
    if (!s) device->context = context;
    if (!s && queue) s = SPMV__CL(hooks, clRetainCommandQueue, (queue));
    if (!s) device->queue = queue;
    return s;
}

static spmv_status spmv__cl_new_context(spmv_device *device)
{
    cl_context_properties properties[3];
    cl_device_id id = (cl_device_id)device->info.id;
    cl_int error;
    properties[0] = CL_CONTEXT_PLATFORM;
    properties[1] = (cl_context_properties)device->info.platform_id;
    properties[2] = 0;
    device->context = SPMV__OPENCL(clCreateContext)(properties, 1, &id, NULL, NULL, &error);
    return spmv__cl(&device->hooks, "clCreateContext", error);
}

static spmv_status spmv__cl_open(spmv_device *device, const spmv_device_desc *desc)
{
    int own = desc->context || desc->id || desc->queue;
    spmv_status s;
    cl_int error;
    if (!spmv__cl_ready(&device->hooks)) return spmv_log(&device->hooks, SPMV_ERR_NO_DEVICE, "%s", spmv__cl_absent());
    s = own ? spmv__cl_adopt(device, desc) : spmv__cl_new_context(device);
    if (s || device->queue) return s;
    device->queue = SPMV__OPENCL(clCreateCommandQueue)((cl_context)device->context, (cl_device_id)device->info.id,
                                                       desc->profile ? (cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE : 0, &error);
    return spmv__cl(&device->hooks, "clCreateCommandQueue", error);
}

static void spmv__cl_close(spmv_device *device)
{
    if (device->queue) SPMV__OPENCL(clReleaseCommandQueue)((cl_command_queue)device->queue);
    if (device->context) SPMV__OPENCL(clReleaseContext)((cl_context)device->context);
}

/* ---- programs and kernels -------------------------------------------------------------------------------------------- */

/* The compiler's output, which the caller frees; NULL if there is none. */
static char *spmv__cl_build_log(const spmv_device *device, cl_program program)
{
    cl_device_id id = (cl_device_id)device->info.id;
    size_t size = 0;
    char *text = NULL;
    if (SPMV__OPENCL(clGetProgramBuildInfo)(program, id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) == CL_SUCCESS)
        text = (char *)spmv_alloc(&device->hooks, (uint64_t)size + 1, 1);
    if (text && SPMV__OPENCL(clGetProgramBuildInfo)(program, id, CL_PROGRAM_BUILD_LOG, size, text, NULL) != CL_SUCCESS) size = 0;
    if (text) text[size] = 0;
    return text;
}

/* Compiles a program; the message of a failure has the options and the compiler's output. */
static spmv_status spmv__cl_build(const spmv_device *device, const spmv_kernel_source *source, void **out)
{
    cl_device_id id = (cl_device_id)device->info.id;
    cl_program program;
    char *text;
    cl_int error;
    const char *text_of[SPMV_KERNEL_TEXTS];
    unsigned i;
    spmv_status s;
    for (i = 0; i < source->count; i++) text_of[i] = source->text[i];
    program = SPMV__OPENCL(clCreateProgramWithSource)((cl_context)device->context, source->count, text_of, source->size, &error);
    s = spmv__cl(&device->hooks, "clCreateProgramWithSource", error);
    if (s) return s;
    *out = program;
    error = SPMV__OPENCL(clBuildProgram)(program, 1, &id, source->options, NULL, NULL);
    if (error == CL_SUCCESS) return SPMV_OK;
    if (error == CL_BUILD_PROGRAM_FAILURE || error == CL_INVALID_BUILD_OPTIONS) {
        text = spmv__cl_build_log(device, program);
        s = spmv_log(&device->hooks, SPMV_ERR_BUILD, "kernels/%s did not build with %s: CL_%s\n%s", source->file, source->options,
                     spmv__cl_error_name(error), text ? text : "");
        spmv_free(&device->hooks, text);
    } else {
        s = spmv__cl(&device->hooks, "clBuildProgram", error);
    }
    SPMV__OPENCL(clReleaseProgram)(program);
    *out = NULL;
    return s;
}

/* The binary of the program for the device. Sizes and binaries are asked for in arrays over all devices of the program: a context of the
 * caller's may have several. */
static spmv_status spmv__cl_image_of(const spmv_device *device, void *handle, void **image, size_t *bytes)
{
    const spmv_hooks *hooks = &device->hooks;
    cl_program program = (cl_program)handle;
    cl_device_id all[SPMV__CL_DEVICES];
    size_t sizes[SPMV__CL_DEVICES];
    unsigned char *images[SPMV__CL_DEVICES] = { NULL }; /* those that stay NULL are not copied */
    cl_uint place = 0, count = 0;
    spmv_status s = SPMV__CL(hooks, clGetProgramInfo, (program, CL_PROGRAM_NUM_DEVICES, sizeof count, &count, NULL));
    *image = NULL;
    *bytes = 0;
    if (s || count > SPMV__CL_DEVICES) return s;
    s = SPMV__CL(hooks, clGetProgramInfo, (program, CL_PROGRAM_DEVICES, count * sizeof *all, all, NULL));
    if (!s) s = SPMV__CL(hooks, clGetProgramInfo, (program, CL_PROGRAM_BINARY_SIZES, count * sizeof *sizes, sizes, NULL));
    while (!s && place < count && all[place] != (cl_device_id)device->info.id) place++;
    if (s || place == count || !sizes[place]) return s;
    s = spmv__room(hooks, image, sizes[place], 1);
    if (s) return s;
    images[place] = (unsigned char *)*image;
    s = SPMV__CL(hooks, clGetProgramInfo, (program, CL_PROGRAM_BINARIES, count * sizeof *images, images, NULL));
    if (!s) *bytes = sizes[place];
    else spmv_free(hooks, *image);
    if (s) *image = NULL;
    return s;
}

static spmv_status spmv__cl_load(const spmv_device *device, const char *options, const void *image, size_t bytes, void **out)
{
    cl_device_id id = (cl_device_id)device->info.id;
    const unsigned char *from = (const unsigned char *)image;
    cl_int error, own = CL_SUCCESS;
    cl_program program = SPMV__OPENCL(clCreateProgramWithBinary)((cl_context)device->context, 1, &id, &bytes, &from, &own, &error);
    spmv_status s = spmv__cl(&device->hooks, "clCreateProgramWithBinary", error);
    if (s) return s;
    s = spmv__cl(&device->hooks, "clCreateProgramWithBinary", own);
    if (!s) s = SPMV__CL(&device->hooks, clBuildProgram, (program, 1, &id, options, NULL, NULL));
    if (s) SPMV__OPENCL(clReleaseProgram)(program);
    else *out = program;
    return s;
}

static void spmv__cl_program_free(const spmv_device *device, void *program)
{
    (void)device;
    SPMV__OPENCL(clReleaseProgram)((cl_program)program);
}

static spmv_status spmv__cl_kernel(const spmv_device *device, void *program, const char *name, void **out)
{
    cl_int error;
    *out = SPMV__OPENCL(clCreateKernel)((cl_program)program, name, &error);
    return spmv__cl(&device->hooks, "clCreateKernel", error);
}

static void spmv__cl_kernel_free(const spmv_device *device, void *kernel)
{
    (void)device;
    SPMV__OPENCL(clReleaseKernel)((cl_kernel)kernel);
}

/* NVIDIA's driver has answered 256 for a kernel that was compiled for work-groups of exactly 512 (reqd_work_group_size, which limits
 * the registers that the compiler uses), so for that driver the size compiled for counts. */
static spmv_status spmv__cl_kernel_limits(const spmv_device *device, void *handle, uint64_t *group, uint64_t *local)
{
    const spmv_hooks *hooks = &device->hooks;
    cl_kernel kernel = (cl_kernel)handle;
    cl_device_id id = (cl_device_id)device->info.id;
    cl_ulong bytes = 0;
    size_t most = 0, compiled[3] = { 0, 0, 0 };
    spmv_status s = SPMV__CL(hooks, clGetKernelWorkGroupInfo, (kernel, id, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, NULL));
    if (!s && device->info.nvidia)
        s = SPMV__CL(hooks, clGetKernelWorkGroupInfo, (kernel, id, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof compiled, compiled, NULL));
    if (most < compiled[0] && compiled[0] <= device->info.group_size) most = compiled[0];
    if (!s) s = SPMV__CL(hooks, clGetKernelWorkGroupInfo, (kernel, id, CL_KERNEL_LOCAL_MEM_SIZE, sizeof bytes, &bytes, NULL));
    *group = most;
    *local = bytes;
    return s;
}

static spmv_status spmv__cl_argument(const spmv_device *device, void *kernel, unsigned index, const void *value, size_t size)
{
    return SPMV__CL(&device->hooks, clSetKernelArg, ((cl_kernel)kernel, index, size, value));
}

/* ---- buffers ------------------------------------------------------------------------------------------------------- */

#ifdef SPMV__LARGE_PAGES
static void CL_CALLBACK spmv__cl_free_block(cl_mem buffer, void *block)
{
    (void)buffer;
    SPMV_FREE(block);
}

/* Makes a buffer of a CPU in memory of the library's own, in large pages, which drivers do not ask for (with PoCL 3.1 products beyond the
 * caches took 1.2 to 1.8 times as long in small pages). The memory is freed with the buffer, by any
 * thread of the driver's, and so not taken from an allocator in hooks. Returns NULL if the buffer is small or cannot
 * be made; the driver then finds the memory. */
static cl_mem spmv__cl_large_buffer(const spmv_device *device, cl_mem_flags flags, uint64_t bytes, const void *from)
{
    const uint64_t least = (uint64_t)1 << 20; /* half a large page: spmv__large_block leaves smaller blocks in small ones */
    void *block = device->info.type == SPMV_DEVICE_CPU && !device->hooks.resize && bytes >= least ? spmv__large_block((size_t)bytes) : NULL;
    cl_mem mem;
    cl_int error;
    if (!block) return NULL;
    if (from) memcpy(block, from, (size_t)bytes);
    mem = SPMV__OPENCL(clCreateBuffer)((cl_context)device->context, flags | CL_MEM_USE_HOST_PTR, (size_t)bytes, block, &error);
    if (error != CL_SUCCESS) {
        SPMV_FREE(block);
        return NULL;
    }
    if (SPMV__OPENCL(clSetMemObjectDestructorCallback)(mem, spmv__cl_free_block, block) == CL_SUCCESS) return mem;
    SPMV__OPENCL(clReleaseMemObject)(mem);
    SPMV_FREE(block);
    return NULL;
}
#endif

static spmv_status spmv__cl_buffer(const spmv_device *device, uint64_t bytes, int read_only, const void *from, void **out)
{
    cl_mem_flags flags = read_only ? CL_MEM_READ_ONLY : CL_MEM_READ_WRITE;
    cl_int error;
#ifdef SPMV__LARGE_PAGES
    *out = spmv__cl_large_buffer(device, flags, bytes, from);
    if (*out) return SPMV_OK;
#endif
    if (from) flags |= CL_MEM_COPY_HOST_PTR;
    *out = SPMV__OPENCL(clCreateBuffer)((cl_context)device->context, flags, (size_t)bytes, (void *)(uintptr_t)from, &error);
    return spmv__cl(&device->hooks, "clCreateBuffer", error);
}

static void spmv__cl_buffer_free(const spmv_device *device, void *buffer)
{
    (void)device;
    SPMV__OPENCL(clReleaseMemObject)((cl_mem)buffer);
}

static spmv_status spmv__cl_buffer_bytes(const spmv_device *device, void *buffer, uint64_t *bytes)
{
    size_t n = 0;
    spmv_status s = SPMV__CL(&device->hooks, clGetMemObjectInfo, ((cl_mem)buffer, CL_MEM_SIZE, sizeof n, &n, NULL));
    *bytes = n;
    return s;
}

static spmv_status spmv__cl_write(const spmv_device *device, void *queue, void *buffer, uint64_t bytes, const void *from)
{
    return SPMV__CL(&device->hooks, clEnqueueWriteBuffer, ((cl_command_queue)queue, (cl_mem)buffer, CL_TRUE, 0, (size_t)bytes, from, 0,
                                                           NULL, NULL));
}

static spmv_status spmv__cl_read(const spmv_device *device, void *queue, void *buffer, uint64_t bytes, void *to, void *after)
{
    cl_event event = (cl_event)after;
    return SPMV__CL(&device->hooks, clEnqueueReadBuffer, ((cl_command_queue)queue, (cl_mem)buffer, CL_TRUE, 0, (size_t)bytes, to,
                                                          event != NULL, event ? &event : NULL, NULL));
}

static spmv_status spmv__cl_fill(const spmv_device *device, void *queue, void *buffer, uint64_t bytes, uint32_t word)
{
    return SPMV__CL(&device->hooks, clEnqueueFillBuffer, ((cl_command_queue)queue, (cl_mem)buffer, &word, sizeof word, 0, (size_t)bytes, 0,
                                                          NULL, NULL));
}

/* ---- queues, launches, events ---------------------------------------------------------------------------------------- */

/* Checks that a queue belongs to device, tells its properties, and retains it. */
static spmv_status spmv__cl_queue_keep(const spmv_device *device, void *handle, int *out_of_order, int *profiles)
{
    const spmv_hooks *hooks = &device->hooks;
    cl_command_queue queue = (cl_command_queue)handle;
    cl_context context = NULL;
    cl_device_id id = NULL;
    cl_command_queue_properties properties = 0;
    spmv_status s = SPMV__CL(hooks, clGetCommandQueueInfo, (queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL));
    if (!s) s = SPMV__CL(hooks, clGetCommandQueueInfo, (queue, CL_QUEUE_DEVICE, sizeof id, &id, NULL));
    if (!s) s = SPMV__CL(hooks, clGetCommandQueueInfo, (queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL));
    if (!s && (context != device->context || id != device->info.id))
        s = spmv_log(hooks, SPMV_ERR_ARGUMENT, "the queue belongs to another context or device than the matrix");
    *out_of_order = (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0;
    *profiles = (properties & CL_QUEUE_PROFILING_ENABLE) != 0;
    return s ? s : SPMV__CL(hooks, clRetainCommandQueue, (queue));
}

static void spmv__cl_queue_free(const spmv_device *device, void *queue)
{
    (void)device;
    SPMV__OPENCL(clReleaseCommandQueue)((cl_command_queue)queue);
}

static spmv_status spmv__cl_finish(const spmv_device *device, void *queue)
{
    return SPMV__CL(&device->hooks, clFinish, ((cl_command_queue)queue));
}

static spmv_status spmv__cl_launch(const spmv_device *device, void *queue, void *kernel, uint64_t groups, uint64_t wg,
                                   const spmv_order *order, void **event)
{
    size_t local = (size_t)wg, global = (size_t)(groups * wg);
    cl_event after = (cl_event)order->after, done = NULL;
    spmv_status s = SPMV__CL(&device->hooks, clEnqueueNDRangeKernel, ((cl_command_queue)queue, (cl_kernel)kernel, 1, NULL, &global, &local,
                                                               after ? 1 : order->count,
                                                               after ? &after : (const cl_event *)order->wait, event ? &done : NULL));
    if (event) *event = done;
    return s;
}

static spmv_status spmv__cl_marker(const spmv_device *device, void *queue, const spmv_order *order, void **event)
{
    cl_event after = (cl_event)order->after, done = NULL;
    spmv_status s = SPMV__CL(&device->hooks, clEnqueueMarkerWithWaitList, ((cl_command_queue)queue, after ? 1 : order->count,
                                                                    after ? &after : (const cl_event *)order->wait, &done));
    *event = done;
    return s;
}

static spmv_status spmv__cl_event_keep(const spmv_device *device, void *event)
{
    return SPMV__CL(&device->hooks, clRetainEvent, ((cl_event)event));
}

static void spmv__cl_event_free(const spmv_device *device, void *event)
{
    (void)device;
    SPMV__OPENCL(clReleaseEvent)((cl_event)event);
}

static spmv_status spmv__cl_seconds(const spmv_device *device, void *first, void *last, double *seconds)
{
    const spmv_hooks *hooks = &device->hooks;
    cl_event begins = (cl_event)first, ends = (cl_event)last;
    cl_ulong begin = 0, end = 0;
    spmv_status s = SPMV__CL(hooks, clWaitForEvents, (1, &ends));
    if (!s) s = SPMV__CL(hooks, clGetEventProfilingInfo, (begins, CL_PROFILING_COMMAND_START, sizeof begin, &begin, NULL));
    if (!s) s = SPMV__CL(hooks, clGetEventProfilingInfo, (ends, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL));
    if (!s && end > begin) *seconds = (double)(end - begin) * 1e-9;
    return s;
}

/* ---- images of x ------------------------------------------------------------------------------------------------------ */

static cl_image_format spmv__cl_image_format(spmv_type type)
{
    cl_image_format format;
    format.image_channel_order = type != SPMV_F32 ? CL_RG : CL_R;
    format.image_channel_data_type = type != SPMV_F32 ? CL_UNSIGNED_INT32 : CL_FLOAT;
    return format;
}

static spmv_status spmv__cl_image_check(const spmv_device *device, spmv_type type)
{
    const spmv_hooks *hooks = &device->hooks;
    cl_context context = (cl_context)device->context;
    cl_image_format want = spmv__cl_image_format(type), list[256]; /* more than devices have */
    cl_uint i, n = 0;
    int found = 0;
    spmv_status s = SPMV__CL(hooks, clGetSupportedImageFormats, (context, CL_MEM_READ_ONLY, CL_MEM_OBJECT_IMAGE1D_BUFFER, 256, list, &n));
    for (i = 0; !s && i < n && i < 256; i++)
        found |= list[i].image_channel_order == want.image_channel_order && list[i].image_channel_data_type == want.image_channel_data_type;
    if (s || found) return s;
    return spmv_log(hooks, SPMV_ERR_UNSUPPORTED, "IMG=1: %s has no images of %s", device->info.name,
                    type == SPMV_F32 ? "float" : "pairs of 32-bit words");
}

static spmv_status spmv__cl_image(const spmv_device *device, void *buffer, spmv_type type, uint64_t texels, void **image)
{
    cl_image_format format = spmv__cl_image_format(type);
    cl_image_desc desc;
    cl_int error;
    memset(&desc, 0, sizeof desc);
    desc.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER;
    desc.image_width = (size_t)texels;
    desc.buffer = (cl_mem)buffer;
    *image = SPMV__OPENCL(clCreateImage)((cl_context)device->context, CL_MEM_READ_ONLY, &format, &desc, NULL, &error);
    return spmv__cl(&device->hooks, "clCreateImage", error);
}

static spmv_status spmv__cl_buffer_keep(const spmv_device *device, void *buffer)
{
    return SPMV__CL(&device->hooks, clRetainMemObject, ((cl_mem)buffer));
}

/* ---- several devices --------------------------------------------------------------------------------------------------- */

static spmv_status spmv__cl_queue_new(const spmv_device *device, void **out)
{
    cl_int error;
    *out = SPMV__OPENCL(clCreateCommandQueue)((cl_context)device->context, (cl_device_id)device->info.id, 0, &error);
    return spmv__cl(&device->hooks, "clCreateCommandQueue", error);
}

static void spmv__cl_queue_end(const spmv_device *device, void *queue)
{
    spmv__cl_finish(device, queue);
    spmv__cl_queue_free(device, queue);
}

static void spmv__cl_unpin(const spmv_device *device, void *at, void *handle)
{
    if (!SPMV__CL(&device->hooks, clEnqueueUnmapMemObject, ((cl_command_queue)device->queue, (cl_mem)handle, at, 0, NULL, NULL)))
        spmv__cl_finish(device, device->queue);
    SPMV__OPENCL(clReleaseMemObject)((cl_mem)handle);
}

/* A buffer that the driver allocates on the host stays mapped: that is what drivers pin. */
static spmv_status spmv__cl_pin(const spmv_device *device, uint64_t bytes, void **at, void **handle)
{
    cl_int error;
    cl_mem mem = SPMV__OPENCL(clCreateBuffer)((cl_context)device->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, (size_t)bytes, NULL,
                                              &error);
    spmv_status s = spmv__cl(&device->hooks, "clCreateBuffer", error);
    if (s) return s;
    *at = SPMV__OPENCL(clEnqueueMapBuffer)((cl_command_queue)device->queue, mem, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, (size_t)bytes, 0,
                                           NULL, NULL, &error);
    s = spmv__cl(&device->hooks, "clEnqueueMapBuffer", error);
    if (s) SPMV__OPENCL(clReleaseMemObject)(mem);
    else *handle = mem;
    return s;
}

static spmv_status spmv__cl_get(const spmv_device *device, void *queue, void *buffer, uint64_t offset, uint64_t bytes, void *to)
{
    return SPMV__CL(&device->hooks, clEnqueueReadBuffer, ((cl_command_queue)queue, (cl_mem)buffer, CL_FALSE, (size_t)offset, (size_t)bytes,
                                                          to, 0, NULL, NULL));
}

static spmv_status spmv__cl_put(const spmv_device *device, void *queue, void *buffer, uint64_t offset, uint64_t bytes, const void *from)
{
    return SPMV__CL(&device->hooks, clEnqueueWriteBuffer, ((cl_command_queue)queue, (cl_mem)buffer, CL_FALSE, (size_t)offset, (size_t)bytes,
                                                           from, 0, NULL, NULL));
}

static spmv_status spmv__cl_start(const spmv_device *device, void *queue)
{
    return SPMV__CL(&device->hooks, clFlush, ((cl_command_queue)queue));
}

/* A point is the place of an event. */
static spmv_status spmv__cl_point(const spmv_device *device, void **out)
{
    cl_event *point = (cl_event *)spmv_alloc(&device->hooks, 1, sizeof *point);
    if (!point) return spmv__no_memory(&device->hooks, 1, sizeof *point);
    *point = NULL;
    *out = point;
    return SPMV_OK;
}

static void spmv__cl_point_free(const spmv_device *device, void *point)
{
    cl_event event = *(cl_event *)point;
    if (event) SPMV__OPENCL(clReleaseEvent)(event);
    spmv_free(&device->hooks, point);
}

static spmv_status spmv__cl_point_set(const spmv_device *device, void *queue, void *point)
{
    cl_event *at = (cl_event *)point, event = NULL;
    spmv_status s = SPMV__CL(&device->hooks, clEnqueueMarkerWithWaitList, ((cl_command_queue)queue, 0, NULL, &event));
    if (s) return s;
    if (*at) SPMV__OPENCL(clReleaseEvent)(*at);
    *at = event;
    return spmv__cl_start(device, queue);
}

static spmv_status spmv__cl_follow(const spmv_device *device, void *queue, void *point)
{
    const cl_event *at = (const cl_event *)point;
    if (!*at) return SPMV_OK;
    return SPMV__CL(&device->hooks, clEnqueueBarrierWithWaitList, ((cl_command_queue)queue, 1, at, NULL));
}

static spmv_status spmv__cl_point_wait(const spmv_device *device, void *point)
{
    const cl_event *at = (const cl_event *)point;
    return *at ? SPMV__CL(&device->hooks, clWaitForEvents, (1, at)) : SPMV_OK;
}

/* ---- the table --------------------------------------------------------------------------------------------------------- */

SPMV_API const spmv_backend *spmv_opencl(void)
{
    /* no peer: NVIDIA's clEnqueueCopyBuffer between two devices of a context is slower than the way through the host [M5] */
    static const spmv_transfer transfer = {
        spmv__cl_queue_new, spmv__cl_queue_end, spmv__cl_pin, spmv__cl_unpin, spmv__cl_get, spmv__cl_put, spmv__cl_start,
        spmv__cl_point, spmv__cl_point_free, spmv__cl_point_set, spmv__cl_follow, spmv__cl_point_wait, NULL, NULL
    };
    static const spmv_backend table = {
        "OpenCL", spmv__cl_list, spmv__cl_open, spmv__cl_close,
        spmv__cl_build, spmv__cl_program_free, spmv__cl_image_of, spmv__cl_load,
        spmv__cl_kernel, spmv__cl_kernel_free, spmv__cl_kernel_limits, spmv__cl_argument,
        spmv__cl_buffer, spmv__cl_buffer_free, spmv__cl_buffer_bytes, spmv__cl_write, spmv__cl_read, spmv__cl_fill,
        spmv__cl_queue_keep, spmv__cl_queue_free, spmv__cl_finish, spmv__cl_launch, spmv__cl_marker,
        spmv__cl_event_keep, spmv__cl_event_free, spmv__cl_seconds,
        spmv__cl_image_check, spmv__cl_image, spmv__cl_buffer_keep, &transfer, NULL, NULL, spmv__cl_absent
    };
    return &table;
}

SPMV_API spmv_status spmv_cl_mul(spmv_exec *exec, double alpha, cl_mem x, uint64_t x_offset, double beta, cl_mem y,
                                 uint64_t y_offset, cl_uint num_wait, const cl_event *wait, cl_event *event)
{
    void *done = NULL;
    spmv_status s = spmv__exec_mul(exec, "spmv_cl_mul", alpha, x, x_offset, beta, y, y_offset, num_wait, wait, event ? &done : NULL);
    if (event) *event = (cl_event)done;
    return s;
}

#else /* the header was not found */
static const char *spmv__cl_absent(void) { return "the library was compiled without the header CL/cl.h (Debian: opencl-headers)"; }

SPMV_API const spmv_backend *spmv_opencl(void)
{
    static const spmv_backend table = {
        "OpenCL", NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, spmv__cl_absent
    };
    return &table;
}
#endif

#endif
