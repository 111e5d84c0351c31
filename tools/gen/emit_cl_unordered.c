/* SPDX-License-Identifier: MIT
 *
 * tools/gen/emit_cl_unordered.c - kernels of their own for parts whose rows come in any order: sequential, atomic and by segments.
 */
#include "tools/gen/emit_cl_state.h"

#include <string.h>

/* What adds to an element of y that other items may add to at the same time. Where it is an instruction, no item waits for it. */
static const char add_to_text[] =
    "#if defined(NVIDIA) && NVIDIA >= 70\n"
    "INLINE void add_to(__global VEC *at, VEC v)\n{\n"
    "#ifdef F64\n    __asm__ volatile(\"red.relaxed.gpu.global.add.f64 [%0], %1;\" : : \"l\"((ulong)at), \"d\"(v) : \"memory\");\n"
    "#else\n    __asm__ volatile(\"red.relaxed.gpu.global.add.f32 [%0], %1;\" : : \"l\"((ulong)at), \"f\"(v) : \"memory\");\n#endif\n}\n"
    "#else\n"
    "#ifdef F64\n#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n"
    "#define WORD ulong\n#define AS_WORD as_ulong\n#define AS_VEC as_double\n#define EXCHANGE atom_cmpxchg\n#else\n"
    "#define WORD uint\n#define AS_WORD as_uint\n#define AS_VEC as_float\n#define EXCHANGE atomic_cmpxchg\n#endif\n\n"
    "INLINE void add_to(__global VEC *at, VEC v)\n{\n"
    "    volatile __global WORD *place = (volatile __global WORD *)at;\n    WORD before;\n"
    "    WORD now = EXCHANGE(place, (WORD)0, (WORD)0); /* an atomic load */\n    do {\n        before = now;\n"
    "        now = EXCHANGE(place, before, AS_WORD(AS_VEC(before) + v));\n    } while (now != before);\n}\n#endif\n\n";

/* The number of slots as "(ulong)(end - first)". */
static void print_slot_count(emitter *e, const tree_stmt *s)
{
    cl_kind k = cl_kind_of_symbol(s->symbol);
    fputs("(ulong)(", e->out);
    cl_print_end(&e->pr, s->b, k);
    if (s->a->kind != TREE_NUMBER || s->a->number) {
        fputs(" - ", e->out);
        cl_print(&e->pr, s->a, k, 1);
    }
    fputs(")", e->out);
}

/* Declares the slot that has the number of the text item among all. */
static void slot_of_item(emitter *e, const tree_stmt *s, const char *item)
{
    cl_kind k = cl_kind_of_symbol(s->symbol);
    emit_cl_declare(e, s->symbol);
    if (s->a->kind != TREE_NUMBER || s->a->number) {
        cl_print(&e->pr, s->a, k, 0);
        fputs(" + ", e->out);
    }
    fprintf(e->out, "(%s)(%s);\n", cl_kind_name(k), item);
}

/* One item takes all elements, in their order, which is that of the additions to each row. */
static void print_sequential(emitter *e)
{
    emit_cl_aim(e, TO_Y, e->p->access);
    emit_cl_line(e, "if (get_group_id(0) == 0 && get_local_id(0) == 0) {");
    e->depth++;
    emit_cl_walk(e, e->p->access);
    emit_cl_close_block(e);
}

/* Each item takes the elements of PER slots and adds them to y atomically. */
static void print_atomic(emitter *e)
{
    const tree_stmt *s = e->p->shape.slot_loop[0];
    emit_cl_aim(e, TO_Y_ATOMIC, e->p->access);
    emit_cl_line(e, "for (uint u_ = 0; u_ < PER; u_++) {");
    e->depth++;
    emit_cl_line(e, "const ulong item = ((ulong)get_group_id(0) * PER + u_) * WG + get_local_id(0);");
    emit_cl_indent(e);
    fputs("if (item < ", e->out);
    print_slot_count(e, s);
    fputs(")", e->out);
    emit_cl_open_block(e);
    slot_of_item(e, s, "item");
    emit_cl_walk(e, s->body);
    emit_cl_close_block(e);
    emit_cl_close_block(e);
}

/* A group takes WG * PER adjacent slots. It keeps their products and rows in local memory; each item adds PER adjacent products, as long as
 * they belong to one row; a scan joins the sums of neighbouring items; and the sum of each run of slots with one row, which is now in the
 * place of its last slot, is added to y. */
static void print_segments(emitter *e)
{
    static const char head[] =
        "    LOCAL VEC product[WG * PER];\n"
        "    LOCAL uint place[WG * PER]; /* the row of each product; PAD: none */\n"
        "    LOCAL VEC tail[2 * WG];     /* the sum of the products behind the last end of a row in each item */\n"
        "    LOCAL uint starts[2 * WG];  /* 1: this sum does not continue that of the item before */\n"
        "    const uint lid = (uint)get_local_id(0);\n"
        "    const ulong base_ = (ulong)get_group_id(0) * (WG * PER);\n"
        "\n    BEGIN(x, y);\n";
    static const char sums[] =
        "    barrier(CLK_LOCAL_MEM_FENCE);\n\n"
        "    const uint begin_ = min(lid * PER, n_);\n"
        "    const uint end_ = min(begin_ + PER, n_);\n"
        "    const int joined = begin_ > 0 && begin_ < end_ && place[begin_ - 1] == place[begin_];\n"
        "    uint head_at = PAD; /* where the row that began in an item before ends */\n"
        "    VEC head_sum = 0;\n"
        "    VEC sum = 0;\n"
        "    uint cut = !joined;\n"
        "    for (uint k_ = begin_; k_ < end_; k_++) {\n"
        "        sum += product[k_];\n"
        "        if (k_ + 1 < n_ && place[k_ + 1] == place[k_])\n"
        "            continue;\n"
        "        if (cut) {\n"
        "            product[k_] = sum;\n"
        "        } else {\n"
        "            head_at = k_;\n"
        "            head_sum = sum;\n"
        "        }\n"
        "        cut = 1;\n"
        "        sum = 0;\n"
        "    }\n"
        "    tail[lid] = sum;\n"
        "    starts[lid] = cut;\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    uint half_at = 0; /* the scan goes from one half of its arrays to the other */\n"
        "    for (uint d_ = 1; d_ < WG; d_ *= 2) {\n"
        "        if (!cut && lid >= d_) {\n"
        "            sum += tail[half_at + lid - d_];\n"
        "            cut = starts[half_at + lid - d_];\n"
        "        }\n"
        "        half_at = WG - half_at;\n"
        "        tail[half_at + lid] = sum;\n"
        "        starts[half_at + lid] = cut;\n"
        "        barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    }\n"
        "    if (head_at != PAD)\n"
        "        product[head_at] = tail[half_at + lid - 1] + head_sum;\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    for (uint u_ = 0; u_ < PER; u_++) {\n"
        "        const uint k_ = u_ * WG + lid;\n"
        "        if (k_ < n_ && place[k_] != PAD && (k_ + 1 == n_ || place[k_ + 1] != place[k_]))\n"
        "            add_to(y + place[k_], alpha * product[k_]);\n"
        "    }\n";
    const tree_stmt *s = e->p->shape.slot_loop[0];
    fputs(head, e->out);
    emit_cl_indent(e);
    fputs("const uint n_ = (uint)min(", e->out);
    print_slot_count(e, s);
    fputs(" - base_, (ulong)(WG * PER));\n\n", e->out);
    emit_cl_aim(e, TO_SEGMENT, e->p->access);
    emit_cl_line(e, "#pragma unroll 8");
    emit_cl_line(e, "for (uint u_ = 0; u_ < PER; u_++) {");
    e->depth++;
    emit_cl_line(e, "const uint k_ = u_ * WG + lid; /* behind the last slot the last one is read once more */");
    slot_of_item(e, s, "base_ + min(k_, n_ - 1)");
    emit_cl_line(e, "uint row_ = PAD;");
    emit_cl_line(e, "VEC product_ = 0;");
    emit_cl_walk(e, s->body);
    emit_cl_line(e, "place[k_] = k_ < n_ ? row_ : PAD;");
    emit_cl_line(e, "product[k_] = product_;");
    emit_cl_close_block(e);
    fputs(sums, e->out);
}

void emit_cl_print_unordered(emitter *e)
{
    fputs("#define OWN_SHELL /* in place of shell.cl */\n", e->out);
    fputs("#define PARAMS ", e->out);
    emit_cl_print_parameters(e, 1);
    if (!strcmp(e->o->arguments, "description")) fputs(", \\\n               ulong rows UNUSED, ulong cols UNUSED", e->out);
    fputs("\n\n", e->out);
    if (e->o->strategy != OPTIONS_SEQUENTIAL) fputs(add_to_text, e->out);
    fputs("/* Adds alpha A x to y, which is scaled before. */\nKERNEL void spmv(PARAMS, PRODUCT_PARAMS)\n{\n", e->out);
    e->depth = 1;
    e->pr.slot = e->p->shape.slot_loop[0]->symbol;
    if (e->o->strategy != OPTIONS_SEGMENTS) emit_cl_line(e, "BEGIN(x, y);");
    if (e->o->strategy == OPTIONS_SEQUENTIAL) print_sequential(e);
    else if (e->o->strategy == OPTIONS_ATOMIC) print_atomic(e);
    else print_segments(e);
    fputs("}\n", e->out);
}
