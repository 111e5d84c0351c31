/* SPDX-License-Identifier: MIT
 *
 * spmv/threads.h - tasks in threads, and how work is shared among them.
 */
#ifndef SPMV__THREADS_H
#define SPMV__THREADS_H

#include "base.h"

/* ---- tasks in threads ---------------------------------------------------------------------------------------------- */

#define SPMV__CACHE_LINE 64 /* bytes */

/* Does task number task of a job, which no other task waits for. This is also the type of a task of libdispatch (dispatch_apply_f) and of
 * pthreadpool, so that SPMV_PARALLEL can hand it to them as it is. */
typedef void (*spmv__task)(void *job, size_t task);

/* How many threads there are. */
SPMV__SHARED size_t spmv__thread_count(void)
{
#ifdef SPMV_PARALLEL
    const size_t threads = (size_t)(SPMV_THREADS());
    return threads ? threads : 1;
#elif defined(_OPENMP)
    return (size_t)omp_get_max_threads();
#else
    return 1;
#endif
}

#ifdef SPMV__ATFORK
static long spmv__forks; /* 1 + forks behind this process since it first asked; with the processes of spmv__left_by, spmv__team and what
                            spmv_cuda.h has loaded, all that the library remembers outside of objects */
static void spmv__count_fork(void) { spmv__forks++; }
#endif

/* A number that a child which is forked off does not share with its parent, if that has asked for its own; 0 where there is no fork. */
SPMV__SHARED long spmv__process(void)
{
#if defined(SPMV__ATFORK)
    long none = 0;
    if (!__atomic_load_n(&spmv__forks, __ATOMIC_RELAXED) && !pthread_atfork(NULL, NULL, spmv__count_fork))
        __atomic_compare_exchange_n(&spmv__forks, &none, 1L, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return __atomic_load_n(&spmv__forks, __ATOMIC_RELAXED);
#elif defined(SPMV__POSIX)
    return (long)getpid();
#else
    return 0;
#endif
}

/* 1 in a process that was forked off *owner, which becomes the first process that asks. */
SPMV__SHARED int spmv__left_by(long *owner)
{
#ifdef SPMV__POSIX
    const long process = spmv__process(), first = __atomic_load_n(owner, __ATOMIC_RELAXED);
    if (!first) __atomic_store_n(owner, process, __ATOMIC_RELAXED);
    return first && first != process;
#else
    (void)owner;
    return 0;
#endif
}

/* 1 in a process that was forked off the one which called this first: OpenMP's threads have stayed there, and GNU's runtime would wait for
 * them for ever. */
SPMV__SHARED int spmv__forked(void)
{
    static long owner;
    return spmv__left_by(&owner);
}

#if defined(_OPENMP) && !defined(SPMV_PARALLEL)
/* Seconds: a region that takes so much longer than its tasks would in one thread is held up. Starting threads takes less; one of them waits
 * for a processor that another program uses. */
#define SPMV__HELD_UP 1e-3
#define SPMV__HELD_UP_OWN 1e-2 /* seconds: where tasks take longer, waiting costs little beside them, or only means that one is longest */
#define SPMV__HELD_UP_TIMES 4 /* for so many times as long as a region was held up, the thread that called does tasks alone */

/* What the calling thread knows of its team, and remembers as spmv__forked does.
 *   alone  seconds for which it still does tasks alone
 *   since  when these were counted last, while it does some; else 0
 *   team   threads of the last region, 0: there was none
 *   late   1: that region was held up */
static struct spmv__team_known { double alone, since; size_t team; int late; } spmv__team;
#pragma omp threadprivate(spmv__team)

/* Counts the time for which the calling thread does tasks alone. 1: it does some and has done so for long enough. */
static int spmv__alone_ends(void)
{
    double now;
    if (!(spmv__team.since > 0)) return 0;
    now = omp_get_wtime();
    spmv__team.alone -= now - spmv__team.since;
    spmv__team.since = now;
    return !(spmv__team.alone > 0);
}

/* Does the tasks alone for as long as the thread should. Returns how many it has done. */
static size_t spmv__do_alone(spmv__task task, void *job, size_t count)
{
    size_t i = 0;
    if (!(spmv__team.alone > 0)) return 0;
    spmv__team.since = omp_get_wtime();
    do task(job, i++);
    while (!spmv__alone_ends() && i < count);
    spmv__team.since = 0;
    return i;
}

/* Does the tasks from the first on in a team. Where other programs use the processors, its threads wait for one another at both ends of the
 * region until these let them, often for 100 times as long as the tasks take; one region that is held up may be chance, the next one as
 * well is not. What starting more threads takes does not count. */
static void spmv__do_in_team(spmv__task task, void *job, size_t first, size_t count, size_t team)
{
    double begin = omp_get_wtime(), own = 0, held_up;
    int late;
    #pragma omp parallel num_threads((int)team) if (!spmv__forked())
    {
        double start = 0;
        int64_t i;
        #pragma omp master
        start = omp_get_wtime();
        #pragma omp for schedule(static, 1) nowait
        for (i = (int64_t)first; i < (int64_t)count; i++) task(job, (size_t)i);
        #pragma omp master
        {
            own = omp_get_wtime() - start;
            if (team > spmv__team.team) begin = start;
        }
    }
    spmv__team.team = team;
    held_up = omp_get_wtime() - begin - own * (double)(count - first);
    late = held_up > SPMV__HELD_UP && own < SPMV__HELD_UP_OWN;
    if (late && spmv__team.late) spmv__team.alone = SPMV__HELD_UP_TIMES * held_up;
    spmv__team.late = late;
}
#endif

/* Does tasks 0 .. count - 1, where count is at least 1, in threads if the build has them and the process was not forked off one whose
 * threads of OpenMP these are (spmv__forked). They have all been done when it returns.
 *   team  how many threads OpenMP has for that, count or more */
SPMV__APART void spmv__parallel(spmv__task task, void *job, size_t count, size_t team)
{
    if (count == 1) {
        task(job, 0);
        return;
    }
#ifdef SPMV_PARALLEL
    (void)team;
    SPMV_PARALLEL(task, job, count);
#elif defined(_OPENMP)
    {
        const size_t done = spmv__do_alone(task, job, count);
        if (done < count) spmv__do_in_team(task, job, done, count, team);
    }
#else
    (void)team; /* there is one thread, so count is 1 */
#endif
}

/* Tasks take numbers from a counter. Where there are no threads, or no atomic addition is known, each is dealt numbers of its own. */
#ifndef SPMV__DEALS
#if defined(__GNUC__) && (defined(SPMV_PARALLEL) || defined(_OPENMP))
#define SPMV__DEALS 0
#else
#define SPMV__DEALS 1
#endif
#endif

/* Should a task that takes numbers leave the rest to the tasks after it? These are then done in a team. */
#if defined(_OPENMP) && !defined(SPMV_PARALLEL) && !SPMV__DEALS
#define SPMV__LEAVES spmv__alone_ends()
#else
#define SPMV__LEAVES 0
#endif

/* The next number for a task: from the counter, or the one that it is dealt. */
SPMV__SHARED size_t spmv__take_number(size_t *counter, size_t dealt)
{
#if SPMV__DEALS
    (void)counter;
    return dealt;
#else
    (void)dealt;
    return __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
#endif
}

/* ---- sharing work among threads ----------------------------------------------------------------------------------- */

/* Conversions and analyses are divided into shares of about this many rows and nonzeros, so few that starting a thread pays. How many
 * there are depends on the matrix alone, so that every result has the same bits with any number of threads. */
#ifndef SPMV__SHARE
#define SPMV__SHARE 32768
#endif

enum { SPMV__MOST_SHARES = 64 };

/* The most threads of a conversion or an analysis: more wait for the same memory, and take longer to start ([M4] of
 * docs/measurements.md). */
enum { SPMV__MOST_THREADS = 8 };

/* How many shares so many rows and nonzeros are worth. */
SPMV__APART uint64_t spmv__share_count(uint64_t work)
{
    const uint64_t most = SPMV__MOST_SHARES, shares = work / SPMV__SHARE;
    return shares < 2 ? 1 : shares < most ? shares : most;
}

/* Does share number share of some work. */
typedef void (*spmv__work)(void *job, uint64_t share);
/* The same with the number of the thread that does it, below that of the threads which do the work: each may have a table of its own. */
typedef void (*spmv__work_in)(void *job, uint64_t share, size_t thread);

/* How many threads conversions and analyses have. */
SPMV__SHARED uint64_t spmv__share_team(void)
{
    const uint64_t threads = spmv__thread_count(), most = SPMV__MOST_THREADS;
    return threads < most ? threads : most;
}

/* How many threads do so many shares; most is the most there may be. */
SPMV__SHARED uint64_t spmv__share_threads(uint64_t shares, uint64_t most)
{
    const uint64_t threads = spmv__share_team();
    if (shares < most) most = shares;
    return threads < most ? threads : most;
}

/* What the tasks of spmv__share_among have in common. */
typedef struct spmv__sharing {
    spmv__work_in work;
    void         *job;
    uint64_t      shares, each; /* each: those of a stretch, of which there are as many as tasks */
    size_t        tasks, next;
} spmv__sharing;

static void spmv__share_task(void *sharing, size_t task)
{
    spmv__sharing *team = (spmv__sharing *)sharing;
    size_t dealt, i;
    for (dealt = task; (i = spmv__take_number(&team->next, dealt)) < team->each * team->tasks; dealt += team->tasks) {
        const uint64_t share = i % team->tasks * team->each + i / team->tasks;
        if (share < team->shares) team->work(team->job, share, task);
        if (SPMV__LEAVES) return;
    }
}

/* Calls work for each share, in at most so many threads. Shares that begin at the same time lie far apart: of two threads that write to the
 * same large page for the first time, both have the system zero one, which takes longer than filling it. The threads belong to a team that
 * is as large for every work, as GNU's OpenMP ends the threads that a smaller team leaves over and starts new ones for the next larger
 * team. */
SPMV__APART void spmv__share_among(spmv__work_in work, void *job, uint64_t shares, uint64_t threads)
{
    const uint64_t team = spmv__share_team(); /* may have changed since the threads were counted */
    spmv__sharing sharing;
    sharing.work = work;
    sharing.job = job;
    sharing.shares = shares;
    sharing.tasks = (size_t)(threads < 2 ? 1 : threads < team ? threads : team);
    sharing.each = spmv__ceil_div(shares, sharing.tasks);
    sharing.next = 0;
    spmv__parallel(spmv__share_task, &sharing, sharing.tasks, (size_t)team);
}

/* Work that does not ask for the number of its thread. */
typedef struct spmv__plain_work {
    spmv__work work;
    void      *job;
} spmv__plain_work;

static void spmv__work_plainly(void *plain, uint64_t share, size_t thread)
{
    const spmv__plain_work *work = (const spmv__plain_work *)plain;
    (void)thread;
    work->work(work->job, share);
}

/* Calls work for each share, in threads if the build has them. */
SPMV__APART void spmv__share_out(spmv__work work, void *job, uint64_t shares)
{
    spmv__plain_work plain;
    plain.work = work;
    plain.job = job;
    if (shares == 1) work(job, 0);
    else spmv__share_among(spmv__work_plainly, &plain, shares, shares);
}

/* The first of n items that belongs to the share or to a later one. Shares begin at multiples of grain. */
SPMV__APART uint64_t spmv__even(uint64_t n, uint64_t grain, uint64_t share, uint64_t shares)
{
    uint64_t grains = spmv__ceil_div(n, grain);
    return spmv__smaller(n, (grains / shares * share + grains % shares * share / shares) * grain);
}

/* The row at which a share begins, so that all have about as many rows and nonzeros; ptr counts the nonzeros before each row. */
SPMV__SHARED uint64_t spmv__share_row(const uint64_t *ptr, uint64_t rows, uint64_t share, uint64_t shares)
{
    uint64_t all = rows ? ptr[rows] - ptr[0] + rows : 0, want = all / shares * share + all % shares * share / shares, low = 0, high = rows;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (ptr[middle] - ptr[0] + middle < want) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* The last of rows i .. rows that begins with nonzero k at the latest, as row i does. It is most often near row i, so steps grow from
 * there. */
SPMV__SHARED uint64_t spmv__tile_row(const uint64_t *ptr, uint64_t i, uint64_t rows, uint64_t k)
{
    uint64_t step = 1, high;
    while (step <= rows - i && ptr[i + step] <= k) {
        i += step;
        step *= 2;
    }
    for (high = spmv__smaller(i + step - 1, rows); i < high;) {
        uint64_t middle = i + (high - i + 1) / 2;
        if (ptr[middle] <= k) i = middle;
        else high = middle - 1;
    }
    return i;
}

#endif
