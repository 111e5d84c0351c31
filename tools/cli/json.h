/* SPDX-License-Identifier: MIT
 *
 * tools/cli/json.h - JSON on standard output, member by member.
 */
#ifndef SPMV_TOOLS_CLI_JSON_H
#define SPMV_TOOLS_CLI_JSON_H

#include <stdint.h>

/* text NULL: null. JSON is UTF-8: a byte that is not (a file's name may have any) becomes U+FFFD. */
void json_text(const char *key, const char *text);

/* JSON knows no Infinity and no NaN: those are null. */
void json_real(const char *key, double v);

/* A member that is a whole number. */
void json_count(const char *key, uint64_t n);

/* Between two members. */
void json_next(void);

#endif
