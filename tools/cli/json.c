/* SPDX-License-Identifier: MIT */
#include "json.h"

#include <stdio.h>

static int is_infinite_or_nan(double v)
{
    return !(v - v == 0);
}

/* The number of bytes of the UTF-8 character at p; 0: the bytes are not UTF-8. */
static int utf8_length(const unsigned char *p)
{
    int n = *p < 0x80 ? 1 : *p >= 0xc2 && *p < 0xe0 ? 2 : *p >= 0xe0 && *p < 0xf0 ? 3 : *p >= 0xf0 && *p < 0xf5 ? 4 : 0, i;
    for (i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    if (n == 3 && ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f))) return 0; /* an overlong form; half a surrogate pair */
    if (n == 4 && ((*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] > 0x8f))) return 0; /* an overlong form; beyond Unicode */
    return n;
}

void json_text(const char *key, const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    int n;
    printf("\"%s\": ", key);
    if (!text) { fputs("null", stdout); return; }
    putchar('"');
    for (; *p; p += n ? n : 1) {
        n = utf8_length(p);
        if (*p == '"' || *p == '\\') printf("\\%c", *p);
        else if (*p < 0x20 || *p == 0x7f) printf("\\u%04x", *p);
        else if (!n) fputs("\\ufffd", stdout);
        else fwrite(p, 1, (size_t)n, stdout);
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
