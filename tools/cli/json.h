/* SPDX-License-Identifier: MIT
 *
 * tools/cli/json.h - JSON on standard output, member by member.
 */
#ifndef SPMV_TOOLS_CLI_JSON_H
#define SPMV_TOOLS_CLI_JSON_H

#include <stdint.h>

/* Prints a member with a string; null if text is NULL. JSON is UTF-8: bytes that are not (file names may hold any) become U+FFFD. */
void json_text(const char *key, const char *text);

/* Prints a member with a number; null for Infinity and NaN, which JSON lacks. */
void json_real(const char *key, double v);

/* Prints a member with a whole number. */
void json_count(const char *key, uint64_t n);

/* Prints the comma between two members. */
void json_next(void);

#endif
