/* SPDX-License-Identifier: MIT
 *
 * tools/gen/backend.c - the values of options.
 */
#include "tools/gen/backend.h"

#include <string.h>

int backend_accepts(const backend_option *o, const char *value)
{
    const size_t length = strlen(value);
    const char *p = o->values;
    while (*p) {
        const size_t word = strcspn(p, " ");
        if ((word == length && !strncmp(p, value, word)) || (word == 1 && *p == '*')) return 1;
        p += word;
        p += strspn(p, " ");
    }
    return 0;
}

const char *backend_value(const backend *b, const backend_settings *set, const char *option)
{
    const backend_option *o = b->options;
    int i;
    for (i = set ? set->count - 1 : -1; i >= 0; i--)
        if (!strcmp(set->set[i].name, option)) return set->set[i].value;
    while (o->name && strcmp(o->name, option) != 0) o++;
    return o->usual;
}
