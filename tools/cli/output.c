/* SPDX-License-Identifier: MIT */
#include "output.h"

#include "cli.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- signals --------------------------------------------------------------------------------------------------- */

static const int output_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};

enum { OUTPUT_SIGNALS = sizeof output_signals / sizeof *output_signals };

static const char *volatile output_unfinished; /* the temporary file, which the handler removes; NULL: none */

static struct sigaction output_before[OUTPUT_SIGNALS];

static void output_interrupted(int number)
{
    const char *path = output_unfinished;
    if (path) unlink(path);
    raise(number); /* SA_RESETHAND has restored the default action, which ends the program */
}

/* From now on a signal that ends the program also removes path. Signals that are ignored stay ignored. */
static void output_guard(const char *path)
{
    struct sigaction act;
    int i;
    memset(&act, 0, sizeof act);
    act.sa_handler = output_interrupted;
    act.sa_flags = (int)SA_RESETHAND;
    sigemptyset(&act.sa_mask);
    output_unfinished = path;
    for (i = 0; i < OUTPUT_SIGNALS; i++) {
        sigaction(output_signals[i], NULL, &output_before[i]);
        if (output_before[i].sa_handler == SIG_DFL) sigaction(output_signals[i], &act, NULL);
    }
}

static void output_unguard(void)
{
    int i;
    output_unfinished = NULL;
    for (i = 0; i < OUTPUT_SIGNALS; i++) sigaction(output_signals[i], &output_before[i], NULL);
}

/* ---- places ---------------------------------------------------------------------------------------------------- */

/* 1: path is standard output under any name; if that is a file, its contents must not be truncated. */
static int output_is_standard(const char *path)
{
    struct stat there, standard;
    if (!path || !strcmp(path, "-")) return 1;
    return stat(path, &there) == 0 && fstat(STDOUT_FILENO, &standard) == 0 && there.st_dev == standard.st_dev &&
           there.st_ino == standard.st_ino;
}

int output_is_file(const char *path)
{
    struct stat there;
    if (output_is_standard(path)) return 0;
    if (!strncmp(path, "/dev/fd/", 8) || !strncmp(path, "/proc/self/fd/", 14)) return 0; /* a caller holds it open */
    return stat(path, &there) != 0 || S_ISREG(there.st_mode);
}

/* The path of name in the folder of beside, which the caller frees; NULL: memory ran out. */
static char *name_beside(const char *beside, const char *name)
{
    const char *slash = strrchr(beside, '/');
    size_t folder = slash ? (size_t)(slash + 1 - beside) : 0, length = strlen(name);
    char *out = (char *)malloc(folder + length + 1);
    if (!out) return NULL;
    memcpy(out, beside, folder);
    memcpy(out + folder, name, length + 1);
    return out;
}

/* The path that path leads to through links, which need not exist; the caller frees it. On failure NULL, with errno set. */
static char *output_target(const char *path)
{
    enum { MOST_LINKS = 40 }; /* Linux's own limit */
    char *at = strdup(path), *next, link[4096];
    struct stat there;
    int i;
    for (i = 0; at && lstat(at, &there) == 0 && S_ISLNK(there.st_mode); i++) {
        size_t length = i < MOST_LINKS ? (size_t)readlink(at, link, sizeof link) : 0; /* (size_t)-1: errno is set */
        if (length == 0) errno = ELOOP;
        if (length == sizeof link) errno = ENAMETOOLONG;
        next = NULL;
        if (length > 0 && length < sizeof link) {
            link[length] = 0;
            next = *link == '/' ? strdup(link) : name_beside(at, link);
        }
        free(at);
        at = next;
    }
    return at;
}

/* ---- opening and closing --------------------------------------------------------------------------------------- */

/* Opens a temporary file beside the target, with the target's mode and, where that is allowed, its owner. On failure o->handle stays -1
 * and errno is set. */
static void output_make(output *o)
{
    enum { MOST_NAMES = 100 }; /* runs with the same process number that were killed may have left files */
    struct stat there;
    int exists = stat(o->target, &there) == 0, i;
    if (exists && access(o->target, W_OK) != 0) return; /* rename does not check this */
    for (i = 0; i < MOST_NAMES && o->handle < 0; i++) {
        char name[64];
        snprintf(name, sizeof name, ".spmv-%ld-%d.new", (long)getpid(), i);
        free(o->beside);
        o->beside = name_beside(o->target, name);
        if (!o->beside) return;
        o->handle = open(o->beside, O_WRONLY | O_CREAT | O_EXCL, 0666);
        if (o->handle < 0 && errno != EEXIST) return;
    }
    if (o->handle < 0) return;
    output_guard(o->beside);
    if (!exists) return;
    if (fchown(o->handle, there.st_uid, there.st_gid) != 0) errno = 0; /* the new file then belongs to the user */
    if (fchmod(o->handle, there.st_mode & 0777) != 0) errno = 0;
}

int output_trouble(const output *o)
{
    if (errno == EACCES && o->beside && o->handle < 0)
        return cli_complain(o->t, "%s: cannot create a file in its folder: %s", o->name, strerror(errno));
    return cli_complain(o->t, "%s: %s", o->name, errno ? strerror(errno) : "memory could not be allocated");
}

static void output_free(output *o)
{
    free(o->target);
    free(o->beside);
    o->target = o->beside = NULL;
    o->handle = -1;
}

int output_open(output *o, tool *t, const char *path)
{
    memset(o, 0, sizeof *o);
    o->t = t;
    o->name = !path || !strcmp(path, "-") ? "standard output" : path;
    o->handle = -1;
    errno = 0;
    if (output_is_standard(path)) {
        if (fflush(stdout) == 0) o->handle = dup(STDOUT_FILENO);
    } else if (!output_is_file(path)) {
        o->handle = open(path, O_WRONLY | O_TRUNC);
    } else {
        errno = 0;
        o->target = output_target(path);
        if (o->target) output_make(o);
    }
    if (o->handle >= 0) return DONE;
    output_trouble(o);
    output_free(o);
    return FAILED;
}

int output_close(output *o, int result)
{
    errno = 0;
    if (result == DONE && o->target && fsync(o->handle) != 0) result = output_trouble(o);
    if (close(o->handle) != 0 && result == DONE) result = output_trouble(o);
    if (result == DONE && o->target && rename(o->beside, o->target) != 0) result = output_trouble(o);
    if (result != DONE && o->target) unlink(o->beside);
    if (o->target) output_unguard();
    output_free(o);
    return result;
}

int output_save(tool *t, const char *path, const void *data, size_t bytes)
{
    output o;
    size_t done = 0;
    int result = output_open(&o, t, path);
    if (result != DONE) return result;
    while (done < bytes && result == DONE) {
        ssize_t n = write(o.handle, (const char *)data + done, bytes - done);
        if (n > 0) done += (size_t)n;
        else if (n == 0 || errno != EINTR) result = output_trouble(&o);
    }
    return output_close(&o, result);
}
