/* SPDX-License-Identifier: MIT
 *
 * spmv/device/open.h - devices: finding and opening one, and what the matrices of a device share.
 */
#ifndef SPMV__DEVICE_OPEN_H
#define SPMV__DEVICE_OPEN_H

#include "../device.h"
#include "../plan/builders.h"

#include <string.h>
#if defined(_MSC_VER) && !defined(__GNUC__)
#include <intrin.h> /* _InterlockedExchange */
#endif

/* ---- devices ----------------------------------------------------------------------------------------------------- */

SPMV_API const char *spmv_device_type_name(spmv_device_type type)
{
    switch (type) {
    case SPMV_DEVICE_GPU: return "gpu";
    case SPMV_DEVICE_CPU: return "cpu";
    case SPMV_DEVICE_ACCELERATOR: return "accelerator";
    default: return "other";
    }
}

static char spmv__dev_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

/* 1 if text begins with word, in any case. */
static int spmv__dev_begins(const char *text, const char *word)
{
    while (*word && spmv__dev_lower(*text) == spmv__dev_lower(*word)) {
        text++;
        word++;
    }
    return !*word;
}

static int spmv__dev_contains(const char *text, const char *word)
{
    for (; *text; text++)
        if (spmv__dev_begins(text, word)) return 1;
    return 0;
}

static int spmv__dev_is_type(const char *which, spmv_device_type type)
{
    const char *name = spmv_device_type_name(type);
    return spmv__dev_begins(which, name) && !which[strlen(name)];
}

/* The index of the device that desc->which selects; count if there is no such device. */
static size_t spmv__dev_choose(const spmv_device_info *info, size_t count, const char *which)
{
    size_t i, number = 0;
    const char *p = which;
    if (!which || !*which) {
        for (i = 0; i < count && info[i].type != SPMV_DEVICE_GPU; i++) {}
        return i < count ? i : 0;
    }
    while (*p >= '0' && *p <= '9' && number < count) number = number * 10 + (size_t)(*p++ - '0');
    if (!*p) return number < count ? number : count;
    for (i = 0; i < count; i++)
        if (spmv__dev_is_type(which, info[i].type)) return i;
    if (spmv__dev_is_type(which, SPMV_DEVICE_GPU) || spmv__dev_is_type(which, SPMV_DEVICE_CPU) ||
        spmv__dev_is_type(which, SPMV_DEVICE_ACCELERATOR)) return count;
    for (i = 0; i < count; i++)
        if (spmv__dev_contains(info[i].name, which)) return i;
    return count;
}

SPMV_API spmv_status spmv_backends_list(const spmv_backend *const *all, spmv_device_info *out, size_t max, size_t *count,
                                        const spmv_hooks *hooks)
{
    if (!all || !count || (max && !out))
        return spmv__null(hooks, "spmv_backends_list", !all ? "all" : !count ? "count" : "out", NULL, 0);
    size_t n, i;
    spmv_status s = SPMV_OK;
    for (*count = 0; !s && *all; all++) {
        size_t room = *count < max ? max - *count : 0;
        if (!(*all)->list) continue;
        s = (*all)->list(room ? out + *count : NULL, room, &n, hooks);
        for (i = 0; !s && i < n && i < room; i++) out[*count + i].backend = *all;
        if (!s) *count += n;
    }
    return s;
}

/* Returns the back end whose name *which is, or begins with before a colon, and skips them; NULL if there is none. */
static const spmv_backend *spmv__dev_named(const spmv_backend *const *all, const char **which)
{
    size_t n;
    for (; *which && *all; all++) {
        n = strlen((*all)->name);
        if (!spmv__dev_begins(*which, (*all)->name) || ((*which)[n] && (*which)[n] != ':')) continue;
        *which += n + ((*which)[n] == ':');
        return *all;
    }
    return NULL;
}

/* Reports that none of the back ends has a device, and what each of them missed. */
static spmv_status spmv__dev_missing(const spmv_backend *const *all, const spmv_hooks *hooks)
{
    char why[400] = "";
    size_t n = 0;
    for (; *all && n < sizeof why; all++)
        n += spmv_print(why + n, sizeof why - n, "%s%s%s%s", n ? "; " : ": ", (*all)->name, (*all)->absent ? ": " : "",
                        (*all)->absent ? (*all)->absent() : "");
    return spmv_log(hooks, SPMV_ERR_NO_DEVICE, "no device was found%s", why);
}

/* Puts the device that which selects into *out. */
static spmv_status spmv__dev_find(const spmv_backend *const *all, spmv_device_info *out, const char *which, const spmv_hooks *hooks)
{
    size_t count = 0, room, i;
    spmv_device_info *info;
    const char *const given = which;
    const spmv_backend *one[2] = { spmv__dev_named(all, &which), NULL };
    spmv_status s;
    if (one[0]) all = one;
    s = spmv_backends_list(all, NULL, 0, &count, hooks);
    if (s) return s;
    if (!count) return spmv__dev_missing(all, hooks);
    room = count;
    info = (spmv_device_info *)spmv_alloc(hooks, room, sizeof *info);
    if (!info) return spmv__no_memory(hooks, room, sizeof *info);
    s = spmv_backends_list(all, info, room, &count, hooks);
    if (count > room) count = room;
    i = s ? count : spmv__dev_choose(info, count, which);
    if (i < count) *out = info[i];
    else if (!s)
        s = spmv_log(hooks, SPMV_ERR_NO_DEVICE, "no device matches '%s'; %llu found", given ? given : "", (spmv__ull)count);
    spmv_free(hooks, info);
    return s;
}

/* ---- what the matrices of a device share ----------------------------------------------------------------------------- */

/* A lock. Where there is neither POSIX nor Windows it does nothing, and threads must take turns. */
#if defined(SPMV__POSIX)
typedef pthread_mutex_t spmv__mutex;
static void spmv__mutex_create(spmv__mutex *mutex) { pthread_mutex_init(mutex, NULL); }
static void spmv__mutex_destroy(spmv__mutex *mutex) { pthread_mutex_destroy(mutex); }
static void spmv__lock(spmv__mutex *mutex) { pthread_mutex_lock(mutex); }
static void spmv__unlock(spmv__mutex *mutex) { pthread_mutex_unlock(mutex); }
#elif defined(_WIN32)
typedef SRWLOCK spmv__mutex;
static void spmv__mutex_create(spmv__mutex *mutex) { InitializeSRWLock(mutex); }
static void spmv__mutex_destroy(spmv__mutex *mutex) { (void)mutex; }
static void spmv__lock(spmv__mutex *mutex) { AcquireSRWLockExclusive(mutex); }
static void spmv__unlock(spmv__mutex *mutex) { ReleaseSRWLockExclusive(mutex); }
#else
typedef char spmv__mutex;
static void spmv__mutex_create(spmv__mutex *mutex) { (void)mutex; }
static void spmv__mutex_destroy(spmv__mutex *mutex) { (void)mutex; }
static void spmv__lock(spmv__mutex *mutex) { (void)mutex; }
static void spmv__unlock(spmv__mutex *mutex) { (void)mutex; }
#endif

/* Flags that one thread sets and another one reads, and locks that nobody waits for: try_lock: 1: it was free, and is taken. */
#if defined(__GNUC__)
static int spmv__is_set(const long *flag) { return __atomic_load_n(flag, __ATOMIC_ACQUIRE) != 0; }
static int spmv__try_lock(long *busy) { return !__atomic_exchange_n(busy, 1L, __ATOMIC_ACQ_REL); }
static void spmv__set_free(long *busy) { __atomic_store_n(busy, 0L, __ATOMIC_RELEASE); }
#elif defined(_MSC_VER)
static int spmv__is_set(const long *flag) { return *(const volatile long *)flag != 0; }
static int spmv__try_lock(long *busy) { return !_InterlockedExchange((volatile long *)busy, 1); }
static void spmv__set_free(long *busy) { _InterlockedExchange((volatile long *)busy, 0); }
#else
static int spmv__is_set(const long *flag) { return *(const volatile long *)flag != 0; }
static int spmv__try_lock(long *busy) { *busy = 1; return 1; }
static void spmv__set_free(long *busy) { *busy = 0; }
#endif
static void spmv__set_flag(long *flag) { (void)spmv__try_lock(flag); }

/* A program that is built; the text of its options follows. */
typedef struct spmv__program {
    struct spmv__program *next;
    void                 *program;
    spmv_format           format;
    const char           *options;
} spmv__program;

/* A compiled program that was given to the device; the bytes of its options, with a zero at the end, and of the image follow. */
typedef struct spmv__image {
    struct spmv__image *next;
    uint64_t            source; /* hash of the source that it was compiled from */
    size_t              options, bytes;
} spmv__image;

/* Memory of the device that the device object keeps: what a matrix needed while it was prepared, and the arrays that it left when it was
 * destroyed, for the next one. Allocating or freeing memory takes as long as a kernel that converts millions of
 * nonzeros ([M20] of docs/measurements.md). All work on it is in the device's queue, one after another. */
#ifndef SPMV__SCRATCH_BYTES
#define SPMV__SCRATCH_BYTES (32u << 20) /* that are kept at most, an assumption: row pointers of 4 million rows take as many */
#endif
enum { SPMV__SCRATCH_PART = 512 /* or this part of the device's memory, if that is more: nobody misses 0.2% of it, an assumption */ };
enum { SPMV__SCRATCH_BUFFERS = 20 /* that are kept at most: more than a matrix and a part need */ };
enum { SPMV__SCRATCH_TIMES = 4 /* as large as it must be, a buffer may be used, so that small matrices do not hold large buffers */ };
enum { SPMV__SCRATCH_CLOSE = 16 /* or larger by this part of that, if the matrix may keep the buffer: an assumption */ };
enum { SPMV__SCRATCH_LEAST = 4096 /* bytes: of smaller requests, sizes make no difference */ };

typedef struct spmv__scratch {
    uint64_t given; /* how many buffers were given back so far */
    struct {
        void    *at; /* NULL: this place is free */
        uint64_t bytes;
        uint64_t given;   /* the number of this one among those that were given back */
        int      running; /* 1: products in the device's queue may still use it: spmv__scratch_settle waits for them */
    } buffer[SPMV__SCRATCH_BUFFERS];
} spmv__scratch;

/* Large copies to and from a device go through pinned memory, which consists of chunks: while some are on their way, the next is filled or
 * emptied, in threads. A driver does the same with one thread, which takes longer [M20]. What is small shares a chunk and is not waited
 * for either. Pinning takes longer than copying, so chunks are made when as many bytes were copied, or are to be copied now, as pay for
 * that, and kept. */
#ifndef SPMV__STAGE_CHUNK
#define SPMV__STAGE_CHUNK (4u << 20) /* bytes [M20] */
#endif
#ifndef SPMV__STAGE_CHUNKS
#define SPMV__STAGE_CHUNKS 2
#endif
#ifndef SPMV__STAGE_PAYS
#define SPMV__STAGE_PAYS (48u << 20) /* bytes that pay: at 0.06 ms for 1 MB, they take the driver as much longer as pinning takes */
#endif
#ifndef SPMV__STAGE_LEAST
#define SPMV__STAGE_LEAST (1u << 20) /* bytes of a copy for which memory is pinned at all; for a download the first chunk is pinned only
                                        from SPMV__STAGE_CHUNK on */
#endif
#ifndef SPMV__STAGE_SHARE
#define SPMV__STAGE_SHARE (512u << 10) /* bytes that are worth a thread */
#endif
#ifndef SPMV__STAGE_ANYWHERE
#define SPMV__STAGE_ANYWHERE 0 /* 1: also for devices that share the memory of the host, for tests */
#endif
enum { SPMV__STAGE_MOST = 4 /* chunks */ };

typedef struct spmv__stage {
    void    *at[SPMV__STAGE_MOST], *handle[SPMV__STAGE_MOST]; /* pinned memory, made when it is first used */
    void    *point[SPMV__STAGE_MOST];                         /* where the queue has read or written it */
    unsigned now;                                             /* the chunk in use */
    uint64_t used;                                            /* bytes of it */
    int      busy;                                            /* 1: copies may be on their way */
    int      none;                                            /* 1: there is no such memory */
    uint64_t copied;                                          /* bytes that were copied without it */
} spmv__stage;

/* Threads that make, update and destroy different matrices at once meet here. A lock is of what stands behind it, up to the next one. */
struct spmv__common {
    long           process;  /* that opened the device */
    int            chain;    /* 1: the device's queue is out of order */
    spmv__mutex    building; /* held while a program is compiled, so that no two threads compile the same one */
    spmv__mutex    copying;  /* held while a chunk is filled or waited for */
    spmv__stage    stage;
    spmv__mutex    lock;     /* never held for long, nor while a hook is called */
    spmv__program *programs; /* those built so far: new ones come in front, and none leaves before the device is closed */
    spmv__image   *images;   /* those of spmv_device_programs_give, from which programs are made instead of being compiled; likewise */
    char          *cache;    /* the folder in which they are kept (spmv_device_desc.cache), or NULL */
    long           keeps;    /* 1: programs will be kept for other processes (spmv_device_programs_give with 0 bytes): kernels that pay only
                                there are compiled as well */
    int            fresh;    /* 1: programs were made of something else than images; written by who holds building */
    double         rented;   /* seconds that the host has taken to fill parts because the kernels for it were not worth compiling yet */
    void          *none;     /* a buffer that stands for arrays without elements */
    void          *kept;     /* the parsed tuning table, kept for later matrices; NULL: none. The next function frees it */
    void         (*kept_free)(void *kept);
    spmv__scratch  scratch;
};

static void spmv__dev_hush(void *user, spmv_status s, const char *message)
{
    (void)user;
    (void)s;
    (void)message;
}

/* The same device without messages. Other threads may be counting what they compile. */
static spmv_device spmv__dev_quiet(const spmv_device *device)
{
    spmv_device quiet;
    quiet.info = device->info;
    quiet.context = device->context;
    quiet.queue = device->queue;
    quiet.common = device->common;
    quiet.compiled = 0;
    quiet.hooks = device->hooks;
    quiet.hooks.log = spmv__dev_hush;
    return quiet;
}

static spmv_status spmv__common_create(spmv_device *device)
{
    void *block;
    spmv_status s = spmv__new(&device->hooks, &block, 1, sizeof *device->common, 0);
    device->common = (spmv__common *)block;
    if (s) return s;
    device->common->process = spmv__process();
    spmv__mutex_create(&device->common->building);
    spmv__mutex_create(&device->common->copying);
    spmv__mutex_create(&device->common->lock);
    return SPMV_OK;
}

/* 1: the device is open, and not only in the process that this one was forked off: a driver's threads, for example, have stayed there. */
static int spmv__dev_is_here(const spmv_device *device) { return device->common && device->common->process == spmv__process(); }

/* Refuses a device that is not; zeroes size bytes at out. */
static spmv_status spmv__dev_not_here(const spmv_device *device, const char *function, void *out, size_t size)
{
    if (out) memset(out, 0, size);
    if (!device->common) return spmv_log(&device->hooks, SPMV_ERR_ARGUMENT, "%s: the device is not open", function);
    return spmv_log(&device->hooks, SPMV_ERR_BACKEND,
                    "%s: the device was opened by a process that this one was forked off: drivers do not work "
                    "in both", function);
}

/* The programs and the images that there are by now. */
static const spmv__program *spmv__dev_programs(const spmv_device *device)
{
    const spmv__program *program;
    spmv__lock(&device->common->lock);
    program = device->common->programs;
    spmv__unlock(&device->common->lock);
    return program;
}

static spmv__image *spmv__dev_images(const spmv_device *device)
{
    spmv__image *image;
    spmv__lock(&device->common->lock);
    image = device->common->images;
    spmv__unlock(&device->common->lock);
    return image;
}

#ifndef SPMV_NO_STDIO
static void spmv__cache_read(spmv_device *device);
#endif
static void spmv__cache_write(spmv_device *device);
static spmv_status spmv__dev_new_buffer(const spmv_device *device, uint64_t bytes, int read_only, void **out);

/* Reads the programs that earlier processes have left in the folder, and keeps its name. */
static spmv_status spmv__cache_open(spmv_device *device, const char *folder)
{
#ifdef SPMV_NO_STDIO
    return spmv_log(&device->hooks, SPMV_ERR_UNSUPPORTED, "cache: %s: this build has no files (SPMV_NO_STDIO)", folder);
#else
    const size_t n = strlen(folder) + 1;
    void *name;
    spmv_status s = spmv__room(&device->hooks, &name, n, 1);
    if (s) return s;
    device->common->cache = (char *)memcpy(name, folder, n);
    spmv__cache_read(device);
    return SPMV_OK;
#endif
}

SPMV_API spmv_status spmv_backends_create(const spmv_backend *const *all, spmv_device *out, const spmv_device_desc *desc)
{
    static long opened; /* the process that first opened a device */
    spmv_device_desc plain;
    int profiles;
    spmv_status s = SPMV_OK;
    if (!all || !out) return spmv__null(desc ? &desc->hooks : NULL, "spmv_backends_create", !all ? "all" : "out", out, sizeof *out);
    memset(out, 0, sizeof *out);
    memset(&plain, 0, sizeof plain);
    if (!desc) desc = &plain;
    out->hooks = desc->hooks;
    if (spmv__left_by(&opened))
        return spmv_log(&out->hooks, SPMV_ERR_BACKEND, "spmv_device_create: a process that this one was forked off has opened a device");
    if (desc->context || desc->id || desc->queue) out->info.backend = desc->backend ? desc->backend : *all;
    else s = spmv__dev_find(all, &out->info, desc->which, &out->hooks);
    if (!s && !out->info.backend) s = spmv_log(&out->hooks, SPMV_ERR_NO_DEVICE, "no back end was given");
    if (!s && !out->info.backend->open)
        s = spmv_log(&out->hooks, SPMV_ERR_UNSUPPORTED, "%s: %s", out->info.backend->name, out->info.backend->absent());
    if (!s) s = spmv__common_create(out);
    if (!s) s = out->info.backend->open(out, desc);
    if (!s) s = spmv__dev_new_buffer(out, 0, 0, &out->common->none);
    if (!s) s = out->info.backend->queue_keep(out, out->queue, &out->common->chain, &profiles);
    if (!s) out->info.backend->queue_free(out, out->queue);
    if (!s && desc->cache) s = spmv__cache_open(out, desc->cache);
    if (s) spmv_device_destroy(out);
    return s;
}

static void spmv__program_free(spmv_device *device, spmv__program *program)
{
    if (program->program && spmv__dev_is_here(device)) device->info.backend->program_free(device, program->program);
    spmv_free(&device->hooks, program);
}

static void spmv__stage_free(spmv_device *device);
static void spmv__scratch_free(spmv_device *device);

static void spmv__programs_free(spmv_device *device)
{
    while (device->common->programs) {
        spmv__program *program = device->common->programs;
        device->common->programs = program->next;
        spmv__program_free(device, program);
    }
}

/* Frees a list of images. */
static void spmv__images_free(const spmv_device *device, spmv__image *image)
{
    while (image) {
        spmv__image *next = image->next;
        spmv_free(&device->hooks, image);
        image = next;
    }
}

/* Frees what was made for the device while matrices were prepared. */
static void spmv__common_destroy(spmv_device *device)
{
    spmv__common *common = device->common;
    if (!common) return;
    if (common->cache && spmv__dev_is_here(device)) spmv__cache_write(device);
    spmv_free(&device->hooks, common->cache);
    spmv__programs_free(device);
    spmv__images_free(device, common->images);
    spmv__stage_free(device);
    spmv__scratch_free(device);
    if (common->kept_free) common->kept_free(common->kept);
    spmv__mutex_destroy(&common->building);
    spmv__mutex_destroy(&common->copying);
    spmv__mutex_destroy(&common->lock);
    spmv_free(&device->hooks, common);
}

SPMV_API void spmv_device_destroy(spmv_device *device)
{
    int here;
    if (!device) return;
    here = spmv__dev_is_here(device);
    spmv__common_destroy(device);
    if (here) device->info.backend->close(device);
    memset(device, 0, sizeof *device);
}

#endif
