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
    size_t length;
    const char *text;
    *found = 0;
    if (from) {
        if (file_load_table(t, from, out) != DONE) return FAILED;
        *found = out->device_class == head->device_class;
        if (*found) return DONE;
        cli_complain(t, "%s is a table of the class %s, the device's is %s", from, spmv_device_class_name(out->device_class),
                     spmv_device_class_name(head->device_class));
        spmv_tuning_free(out);
        return FAILED;
    }
    text = spmv_tuning_bundled(head->device, head->device_class, &length, NULL);
    if (!text) return DONE;
    if (spmv_tuning_read(out, text, length, "the bundled table", &t->hooks) != SPMV_OK) return FAILED;
    *found = 1;
    return DONE;
}

/* Multiplies each rate by what the model of the library says of the new device over what it says of the old one. The levels of caches that
 * only the rates show move with the rates, so that both are taken to have the one cache of their heads. */
static void rates_move(spmv_tuning *table, const spmv_tuning *head)
{
    spmv_tuning old = *table, now = *head;
    size_t k;
    int i;
    if (!(old.read > 0) || !(now.read > 0)) return;
    old.device_class = now.device_class = SPMV_DEVICE_CLASS_CPU;
    for (k = 0; k < table->count; k++)
        for (i = 0; i < table->rows * table->per_row; i++) {
            const spmv_tune_row *r = &table->row[k];
            double rows = (double)table->rows_at[i / table->per_row], per_row = (double)table->per_row_at[i % table->per_row];
            if (!(r->rate[i] > 0)) continue;
            r->rate[i] *= (float)library_exp2(library_model_rate(&now, r->type, &r->layout, rows, per_row) -
                                              library_model_rate(&old, r->type, &r->layout, rows, per_row));
        }
}

/* Copies what a head says of a device. Figures that it lacks stay, because without them estimates would be made in another way. */
static void head_move(spmv_tuning *table, const spmv_tuning *head)
{
    memcpy(table->device, head->device, sizeof table->device);
    memcpy(table->driver, head->driver, sizeof table->driver);
    memcpy(table->date, head->date, sizeof table->date);
    table->units = head->units;
    table->memory = head->memory;
    table->copy = head->copy;
    table->read = head->read;
    table->launch = head->launch;
    table->cache = head->cache;
    table->cache_read = head->cache_read;
    if (head->miss > 0) {
        table->held = head->held;
        table->miss = head->miss;
    }
    if (!(head->step > 0)) return;
    table->step = head->step;
    table->long_step = head->long_step;
    table->short_steps = head->short_steps;
}

int prior_move(tool *t, spmv_tuning *table, const spmv_tuning *head)
{
    growing text;
    spmv_tuning again;
    int result = DONE;
    memset(&text, 0, sizeof text);
    rates_move(table, head);
    head_move(table, head);
    table_print(&text, table, NULL); /* what follows from the rates and the head is found where a table is read */
    if (text.failed) result = cli_no_memory(t);
    else if (spmv_tuning_read(&again, text.at, text.used, "the table of a similar device", &t->hooks) != SPMV_OK) result = FAILED;
    growing_free(&text);
    if (result != DONE) return FAILED;
    spmv_tuning_free(table);
    *table = again;
    return DONE;
}
