/* SPDX-License-Identifier: MIT */
#include "prior.h"

#include "../cli/cli.h"
#include "../cli/files.h"
#include "../cli/memory.h"
#include "../library.h"
#include "table.h"
#include "spmv.h"
#include <stdio.h>
#include <string.h>

int prior_read(tool *t, const spmv_tuning *head, const char *from, spmv_tuning *out, int *found)
{
    const char *text;
    size_t length;
    *found = 0;
    if (from && strcmp(from, "bundled") != 0) {
        if (file_load_table(t, from, out) != DONE) return FAILED;
        *found = out->device_class == head->device_class;
        if (*found) return DONE;
        cli_complain(t, "%s is a table of the class %s, the device's is %s", from, spmv_device_class_name(out->device_class),
                     spmv_device_class_name(head->device_class));
        spmv_tuning_free(out);
        return FAILED;
    }
    text = spmv_tuning_bundled(head->device, head->device_class, &length, NULL);
    *found = text != NULL;
    return !text || spmv_tuning_read(out, text, length, "the bundled table", &t->hooks) == SPMV_OK ? DONE : FAILED;
}

/* Makes every speed so many times as high and every time as many times as short. */
static void speeds_move(spmv_tuning *table, double times)
{
    size_t k;
    int i, f;
    for (k = 0; k < table->count; k++)
        for (i = 0; i < table->rows * table->per_row; i++) table->row[k].rate[i] *= (float)times;
    table->copy *= times;
    table->read *= times;
    table->cache_read *= times;
    table->launch /= times;
    table->step /= times;
    table->long_step /= times;
    table->miss /= times;
    for (f = 0; f < SPMV_FORMAT_COUNT; f++)
        for (i = 0; i < SPMV_WORK_COUNT; i++)
            if (library_work_unit((spmv_work)i) < 1) /* the others are factors of times that move by themselves */
                table->work[f][i] /= times;
}

/* Copies what a head says of a device, except speeds and times; but a call takes the host as long as it takes here. */
static void names_move(spmv_tuning *table, const spmv_tuning *head)
{
    memcpy(table->device, head->device, sizeof table->device);
    memcpy(table->driver, head->driver, sizeof table->driver);
    memcpy(table->date, head->date, sizeof table->date);
    table->units = head->units;
    table->memory = head->memory;
    if (table->graph) table->call = head->graph ? head->call : head->launch;
    if (head->prepare.slot[SPMV_CSR][SPMV_WAY_PLAIN] > 0) table->prepare = head->prepare;
}

/* How many times as fast the device of head is as that of the table: what is higher of the ratios at which they read memory and caches. */
static double speed_ratio(const spmv_tuning *table, const spmv_tuning *head)
{
    double memory = table->read > 0 && head->read > 0 ? head->read / table->read : 0;
    double cache = table->cache_read > 0 && head->cache_read > 0 ? head->cache_read / table->cache_read : 0;
    double most = cache > memory ? cache : memory;
    return most > 0 ? most : 1;
}

int prior_move(tool *t, spmv_tuning *table, const spmv_tuning *head)
{
    growing text;
    spmv_tuning again;
    int result = DONE;
    memset(&text, 0, sizeof text);
    speeds_move(table, speed_ratio(table, head));
    names_move(table, head);
    table_print(&text, table, NULL); /* what follows from the rates and the head is found where a table is read */
    if (text.failed) result = cli_no_memory(t);
    else if (spmv_tuning_read(&again, text.at, text.used, "the table of a similar device", &t->hooks) != SPMV_OK) result = FAILED;
    growing_free(&text);
    if (result != DONE) return FAILED;
    spmv_tuning_free(table);
    *table = again;
    return DONE;
}
