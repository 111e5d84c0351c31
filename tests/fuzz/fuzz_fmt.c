/* SPDX-License-Identifier: MIT
 *
 * Fuzzes spmvgen: the parser and the checks of format descriptions, and the C back end. A description is either refused with a message
 * that says what was expected, or translated. With -DFUZZ_REPLAY, it is a program that replays the files named on the command line.
 */
#include "tools/gen/backend.h"
#include "tools/gen/check.h"
#include "tools/gen/front.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUZZ_CHECK(x) do { if (!(x)) { fprintf(stderr, "failed: %s\n", #x); abort(); } } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    tree_format f;
    report errors = { NULL, 0 };
    char *text = (char *)malloc(bytes ? bytes : 1), *messages = NULL, *code = NULL;
    size_t message_bytes = 0, code_bytes = 0;
    backend_setting setting = { "H", "8", 0 };
    backend_settings set = { &setting, 1 };
    int wrong;
    memset(&f, 0, sizeof f);
    if (bytes) memcpy(text, data, bytes);
    f.name = "fuzz";
    f.file = "fuzz.fmt";
    f.text = text;
    f.bytes = bytes;
    errors.out = open_memstream(&messages, &message_bytes);
    wrong = front_parse(&f, &errors) || check_format(&f, &set, &errors);
    fclose(errors.out);
    FUZZ_CHECK((errors.errors > 0) == (wrong != 0));
    FUZZ_CHECK(!wrong || strstr(messages, "expected") || strstr(messages, "--set"));
    if (!wrong) {
        FILE *out = open_memstream(&code, &code_bytes);
        FUZZ_CHECK(f.num_rows && f.num_cols && f.part->shape.val_let);
        FUZZ_CHECK(emit_c_backend.emit(&f, NULL, out) == 0);
        fclose(out);
        FUZZ_CHECK(code_bytes > 1000);
    }
    free(code);
    free(messages);
    free(text);
    tree_free(&f);
    return 0;
}

#ifdef FUZZ_REPLAY
int main(int argc, char **argv)
{
    int i;
    for (i = 1; i < argc; i++) {
        FILE *in = fopen(argv[i], "rb");
        static uint8_t data[1 << 20];
        size_t bytes = in ? fread(data, 1, sizeof data, in) : 0;
        FUZZ_CHECK(in != NULL);
        fclose(in);
        LLVMFuzzerTestOneInput(data, bytes);
    }
    printf("%d files replayed\n", argc - 1);
    return 0;
}
#endif
