/* SPDX-License-Identifier: MIT */
#include "picture.h"

#include "../cli/cli.h"
#include "../cli/files.h"
#include "../cli/output.h"
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* The lines of tools/plot.py. */
static const char *const script[] = {
#include "build/obj/plot.inc"
};

/* The text of plot.py, which the caller frees; NULL: memory ran out. */
static char *script_text(void)
{
    size_t i, bytes = 1, lines = sizeof script / sizeof *script;
    char *text;
    for (i = 0; i < lines; i++) bytes += strlen(script[i]);
    text = (char *)calloc(bytes, 1);
    for (i = 0, bytes = 0; text && i < lines; bytes += strlen(script[i++])) strcpy(text + bytes, script[i]);
    return text;
}

/* Runs a program with these descriptors as standard input and output, or with nothing as input where in is below 0. 1: it was found and
 * ended with status 0. */
static int program_runs(char *const *argv, int in, int out)
{
    posix_spawn_file_actions_t files;
    int status = -1;
    pid_t id;
    if (posix_spawn_file_actions_init(&files) != 0) return 0;
    if (in >= 0) posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
    else posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    if (posix_spawnp(&id, *argv, &files, NULL, argv, environ) == 0)
        while (waitpid(id, &status, 0) < 0 && errno == EINTR) continue;
    posix_spawn_file_actions_destroy(&files);
    return status == 0;
}

/* Runs plot.py with path and words. 1: it ended with status 0. */
static int script_runs(const picture *p, const char *path, const char *const *words, int out)
{
    size_t count = 0;
    char **argv, *text = script_text();
    int good = 0;
    while (words[count]) count++;
    argv = (char **)calloc(count + 5, sizeof *argv);
    if (text && argv) {
        argv[0] = (char *)p->python;
        argv[1] = (char *)"-c";
        argv[2] = text;
        argv[3] = (char *)path;
        memcpy(argv + 4, words, count * sizeof *argv);
        good = program_runs(argv, p->data ? fileno(p->data) : -1, out);
    } else {
        cli_no_memory(p->t);
    }
    free(argv);
    free(text);
    return good;
}

int picture_begin(picture *p, tool *t, const char *path)
{
    static const char *const none[] = {NULL};
    /* a distribution's matplotlib is for its own Python, which another one may precede in PATH */
    static const char *const pythons[] = {"python3", "/usr/bin/python3"};
    size_t i;
    memset(p, 0, sizeof *p);
    p->t = t;
    p->path = path;
    if (!path) return cli_misuse(t, "the name of the picture is missing: -o NAME.png or -o NAME.svg");
    if (!file_ends_in(path, ".png") && !file_ends_in(path, ".svg"))
        return cli_misuse(t, "the picture's name must end in .png or .svg, not '%s'", path);
    for (i = 0; i < sizeof pythons / sizeof *pythons; i++) {
        p->python = pythons[i];
        if (script_runs(p, NULL, none, STDERR_FILENO)) return DONE;
    }
    return cli_complain(t, "plot draws by python3 with matplotlib, which are not there; install them (Debian: python3-matplotlib; "
                           "elsewhere: pip install matplotlib)");
}

int picture_open(picture *p)
{
    p->data = tmpfile();
    return p->data ? DONE : cli_complain(p->t, "a temporary file: %s", strerror(errno));
}

/* Makes the data ready to be read. DONE, or FAILED after a message. */
static int data_rewind(const picture *p)
{
    errno = 0;
    if (!p->data || (fflush(p->data) == 0 && !ferror(p->data) && fseek(p->data, 0, SEEK_SET) == 0)) return DONE;
    return cli_complain(p->t, "a temporary file: %s", strerror(errno ? errno : EIO));
}

int picture_draw(picture *p, const char *const *words)
{
    output o;
    int result = data_rewind(p);
    if (result == DONE) result = output_open(&o, p->t, p->path);
    if (result == DONE) result = output_close(&o, script_runs(p, p->path, words, o.handle) ? DONE : FAILED);
    if (p->data) fclose(p->data);
    p->data = NULL;
    return result;
}
