/* SPDX-License-Identifier: MIT */
#include "json.h"

#include "cli.h"
#include <stdio.h>

static int is_infinite_or_nan(double v)
{
    return !(v - v == 0);
}

void json_text(const char *key, const char *text)
{
    const char *p = text;
    size_t n;
    printf("\"%s\": ", key);
    if (!text) { fputs("null", stdout); return; }
    putchar('"');
    for (; *p; p += n ? n : 1) {
        n = cli_utf8_length(p);
        if (*p == '"' || *p == '\\') printf("\\%c", *p);
        else if ((unsigned char)*p < 0x20 || *p == 0x7f) printf("\\u%04x", (unsigned)*p);
        else if (!n) fputs("\\ufffd", stdout);
        else fwrite(p, 1, n, stdout);
    }
    putchar('"');
}

void json_real(const char *key, double v)
{
    if (is_infinite_or_nan(v)) printf("\"%s\": null", key);
    else printf("\"%s\": %.9g", key, v);
}

void json_count(const char *key, uint64_t n)
{
    printf("\"%s\": %llu", key, (unsigned long long)n);
}

void json_next(void)
{
    fputs(", ", stdout);
}
