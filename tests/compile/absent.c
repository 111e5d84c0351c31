/* SPDX-License-Identifier: MIT
 * A program on a machine without devices: it lists none, and opening one, or one of the caller's own, fails with messages that have the
 * words of the arguments, the first of which are about OpenCL. */
#define SPMV_IMPLEMENTATION
#include "spmv.h"

static char said[1000];

static void hear(void *user, spmv_status s, const char *message)
{
    (void)user;
    if (s) spmv_print(said + strlen(said), sizeof said - strlen(said), "%s\n", message);
}

int main(int argc, char **argv)
{
    spmv_device d;
    spmv_device_desc desc;
    size_t n = 1;
    int i, wrong;
    memset(&desc, 0, sizeof desc);
    desc.hooks.log = hear;
    wrong = argc < 2 || spmv_device_list(NULL, 0, &n, &desc.hooks) || n || said[0];
    wrong |= spmv_device_create(&d, &desc) != SPMV_ERR_NO_DEVICE;
    for (i = 1; i < argc; i++) wrong |= !strstr(said, argv[i]);
    said[0] = 0;
    desc.context = desc.id = &d;
    desc.backend = spmv_opencl();
    wrong |= !spmv_device_create(&d, &desc) || argc < 2 || !strstr(said, argv[1]);
    if (wrong) printf("%d devices: %s", (int)n, said);
    return wrong;
}
