/* SPDX-License-Identifier: MIT */
#include "journal.h"

#include "../cli/cli.h"
#include "../cli/files.h"
#include "../cli/memory.h"
#include "../cli/output.h"
#include "candidates.h"
#include "structures.h"
#include "table.h"
#include "spmv_io.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The most bytes of a journal; a larger file is something else. */
enum { JOURNAL_BYTES = 16 * 1024 * 1024 };

/* The beginning of its first line, before " graph" if products are timed in CUDA graphs. */
static const char journal_title[] = "spmv tuning journal 1";

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Reads what follows the name in the line of a rate: rows, nonzeros in a row and the rate, each after a blank, to the end of the line.
 * 1, or 0 if the text is something else. */
static int sample_numbers(const char *p, double v[3])
{
    int i;
    for (i = 0; i < 3; i++) {
        char word[SPMV_NUMBER_TEXT];
        size_t n = *p == ' ' ? strcspn(p + 1, " \n") : 0;
        if (n == 0 || n >= sizeof word) return 0;
        memcpy(word, p + 1, n);
        word[n] = 0;
        if (!spmv_number_from(word, &v[i]) || !(v[i] >= 0 && v[i] <= 1e15)) return 0;
        p += 1 + n;
    }
    return *p == '\n';
}

void journal_recall_candidate(tuner *u, candidate *c)
{
    char name[400];
    const char *p = u->past.at, *end;
    size_t n;
    candidate_name(c, name, sizeof name);
    n = strlen(name);
    for (; p && *p; p = end + 1) {
        double v[3];
        int r, k;
        end = strchr(p, '\n');
        if (!end) return; /* an incomplete last line */
        if ((*p != 's' && *p != 'x') || strncmp(p + 2, name, n) != 0 || p[2 + n] != ' ') continue;
        if (*p == 'x') c->state = STRUCK;
        if (*p == 'x' || !sample_numbers(p + 2 + n, v)) continue;
        r = table_axis_index(u->head.rows_at, u->head.rows, (uint64_t)v[0]);
        k = table_axis_index(u->head.per_row_at, u->head.per_row, (uint64_t)v[1]);
        if (r < 0 || k < 0) continue;
        if ((float)v[2] > *candidate_rate(u, c, r, k)) *candidate_rate(u, c, r, k) = (float)v[2];
        c->own++;
        u->recalled++;
    }
}

/* ---- the journal ------------------------------------------------------------------------------------------------ */

static void journal_head(const tuner *u, char *out, size_t size)
{
    snprintf(out, size, "%s%s\n%s\n%s\n", journal_title, u->head.graph ? " graph" : "", u->head.device, u->head.driver);
}

/* 1: the products of the old journal were timed by calls, and now they are timed in graphs, or the other way round. */
static int journal_is_other(const tuner *u)
{
    const size_t n = strlen(journal_title);
    return !strncmp(u->past.at, journal_title, n) && strcspn(u->past.at + n, "\n") != (u->head.graph ? strlen(" graph") : 0);
}

/* Checks every line of the old journal and cuts off the last if it is incomplete. DONE, or FAILED after a message. */
static int journal_check(tuner *u, size_t head)
{
    const char *p = u->past.at + head, *end;
    unsigned number = 4;
    for (; (end = strchr(p, '\n')) != NULL; p = end + 1, number++) {
        const char *word = p;
        double v[3];
        int i;
        if (*p == 'x' && p[1] == ' ') continue;
        for (i = 0; i < 4; i++) { /* skips s, the type, the kind and the name */
            word += strcspn(word, " \n");
            if (i < 3 && *word++ != ' ') break;
        }
        if (*p != 's' || i < 4 || !sample_numbers(word, v))
            return cli_complain(u->t, "%s, line %u: neither a rate nor a candidate that was struck out", u->journal_path, number);
    }
    u->past.used = (size_t)(p - u->past.at);
    u->past.at[u->past.used] = 0;
    return DONE;
}

/* Reads the old journal, if there is one, into u->past. DONE, or FAILED after a message. */
static int journal_recall(tuner *u)
{
    char head[600];
    void *at;
    journal_head(u, head, sizeof head);
    if (access(u->journal_path, F_OK) != 0) return DONE; /* no run was begun, or it was completed */
    if (file_load_text(u->t, u->journal_path, JOURNAL_BYTES, &u->past.at, &u->past.used) != DONE) return FAILED;
    at = u->past.at;
    if (!memory_resize(&at, u->past.used + 1, 1)) return cli_no_memory(u->t);
    u->past.at = (char *)at;
    u->past.at[u->past.used] = 0;
    if (journal_is_other(u))
        return cli_complain(u->t, "%s: its products were timed %s; remove it to start again", u->journal_path,
                            samples_timed(!u->head.graph));
    if (strlen(u->past.at) < strlen(head) || strncmp(u->past.at, head, strlen(head)) != 0)
        return cli_complain(u->t, "%s: not a journal of %s, %s; remove it to start again", u->journal_path, u->head.device, u->head.driver);
    return journal_check(u, strlen(head));
}

/* 1: the journal holds more than its head, or cannot be read. */
static int journal_holds_samples(const tuner *u)
{
    FILE *f = fopen(u->journal_path, "rb");
    int lines = 0, c;
    if (!f) return errno != ENOENT;
    while (lines < 3 && (c = getc(f)) != EOF) lines += c == '\n';
    c = getc(f);
    fclose(f);
    return c != EOF;
}

int journal_begin(tuner *u, const char *path, int resume)
{
    if (!output_is_file(path)) return resume ? cli_misuse(u->t, "--resume requires the table's name (--out)") : DONE;
    if (snprintf(u->journal_path, sizeof u->journal_path, "%s.journal", path) >= (int)sizeof u->journal_path)
        return cli_complain(u->t, "%s: the name is too long", path);
    if (resume || !journal_holds_samples(u)) return DONE;
    return cli_complain(u->t, "%s: holds the rates of an interrupted run; give --resume to continue it, or remove the file to start again",
                    u->journal_path);
}

int journal_open(tuner *u, int resume)
{
    char head[600];
    int result = DONE;
    if (!*u->journal_path) return DONE;
    if (resume && journal_recall(u) != DONE) return FAILED;
    journal_head(u, head, sizeof head);
    if (u->past.used) result = output_save(u->t, u->journal_path, u->past.at, u->past.used);
    else result = output_save(u->t, u->journal_path, head, strlen(head));
    if (result != DONE) return result;
    u->journal = fopen(u->journal_path, "ab");
    return u->journal ? DONE : cli_complain(u->t, "%s: %s", u->journal_path, strerror(errno));
}

/* Appends a line. If that fails, the journal is closed; its last line may then be incomplete. */
LIKE_PRINTF(2, 3) static void journal_print(tuner *u, const char *format, ...)
{
    va_list list;
    int fine;
    if (!u->journal) return;
    va_start(list, format);
    fine = vfprintf(u->journal, format, list) >= 0;
    va_end(list);
    if (fine && fflush(u->journal) == 0) return;
    cli_complain(u->t, "%s: %s; further rates are not saved there", u->journal_path, strerror(errno));
    fclose(u->journal);
    u->journal = NULL;
}

void journal_close(tuner *u, int result)
{
    if (u->journal) fclose(u->journal);
    u->journal = NULL;
    if (result == DONE && u->complete && *u->journal_path) remove(u->journal_path);
}

void journal_sample(tuner *u, const candidate *c, int row, int per)
{
    char name[400];
    candidate_name(c, name, sizeof name);
    journal_print(u, "s %s %llu %llu %.6g\n", name, (unsigned long long)u->head.rows_at[row],
                  (unsigned long long)u->head.per_row_at[per], (double)*candidate_rate(u, c, row, per));
}

void journal_strike(tuner *u, candidate *c, const char *why)
{
    char name[400], words[300], *p;
    candidate_name(c, name, sizeof name);
    snprintf(words, sizeof words, "%s", why);
    for (p = words; *p; p++) if (*p == '\n' || *p == '\r') *p = ' ';
    c->state = STRUCK;
    u->struck++;
    cli_complain(u->t, "struck out: %s: %s", name, words);
    journal_print(u, "x %s %s\n", name, words);
}
