/* What the conformance programs have in common. Each is a list of tests, one a statement about VIPL; a test that fails ends the
 * program with the reason. The NICs are nic0 and nic1; on both nothing else runs.
 */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#include <vipl.h>

static const char *test_name = "";

#define CHECK(condition) check((condition) != 0, #condition, __FILE__, __LINE__)
/* A call's answer. */
#define IS(call, code) check_code((call), (code), #call, __FILE__, __LINE__)
#define OK(call) IS(call, VIP_SUCCESS)

static void check(int good, const char *what, const char *file, int line)
{
    if (!good) {
        printf("%s failed: %s:%d: %s\n", test_name, file, line, what);
        fflush(stdout);
        _exit(1);
    }
}

static void check_code(VIP_RETURN is, VIP_RETURN wanted, const char *what, const char *file, int line)
{
    if (is != wanted) {
        printf("%s failed: %s:%d: %s is %d, not %d\n", test_name, file, line, what, (int)is, (int)wanted);
        fflush(stdout);
        _exit(1);
    }
}

/* Says something at once, in one call: the test that started the program listens, or looks at its calls. */
static void say(const char *what)
{
    CHECK(write(1, what, strlen(what)) == (ssize_t)strlen(what));
}

static double seconds(void)
{
    struct timeval now;
    gettimeofday(&now, NULL);
    return (double)now.tv_sec + (double)now.tv_usec * 1e-6;
}

/* ---- What most tests begin with ---------------------------------------------------------------------------------- */

#define MEMORY 65536

/* An open NIC, a protection tag, and memory that is registered under it. */
struct world {
    VIP_NIC_HANDLE nic;
    VIP_PROTECTION_HANDLE ptag;
    char *memory;
    VIP_MEM_HANDLE handle;
};

static void begin(struct world *world, const char *name)
{
    VIP_MEM_ATTRIBUTES attributes;
    void *memory = NULL;
    memset(world, 0, sizeof *world);
    OK(VipOpenNic(name, &world->nic));
    OK(VipCreatePtag(world->nic, &world->ptag));
    CHECK(posix_memalign(&memory, 4096, MEMORY) == 0);
    memset(memory, 0, MEMORY);
    world->memory = (char *)memory;
    attributes.Ptag = world->ptag;
    attributes.EnableRdmaWrite = VIP_TRUE;
    attributes.EnableRdmaRead = VIP_TRUE;
    OK(VipRegisterMem(world->nic, world->memory, MEMORY, &attributes, &world->handle));
}

static void end(struct world *world)
{
    OK(VipDeregisterMem(world->nic, world->memory, world->handle));
    OK(VipDestroyPtag(world->nic, world->ptag));
    OK(VipCloseNic(world->nic));
    free(world->memory);
}

static VIP_VI_ATTRIBUTES vi_attributes(const struct world *world)
{
    VIP_VI_ATTRIBUTES attributes;
    attributes.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY;
    attributes.MaxTransferSize = 32768;
    attributes.QoS = NULL;
    attributes.Ptag = world->ptag;
    attributes.EnableRdmaWrite = VIP_FALSE;
    attributes.EnableRdmaRead = VIP_FALSE;
    return attributes;
}

static VIP_VI_HANDLE create_vi(const struct world *world, VIP_CQ_HANDLE send, VIP_CQ_HANDLE receive)
{
    VIP_VI_ATTRIBUTES attributes = vi_attributes(world);
    VIP_VI_HANDLE vi = NULL;
    OK(VipCreateVi(world->nic, &attributes, send, receive, &vi));
    CHECK(vi != NULL);
    return vi;
}

/* The descriptor at a place of the memory: of one segment, as many bytes behind it. */
static VIP_DESCRIPTOR *descriptor(const struct world *world, int place, VIP_UINT32 bytes)
{
    VIP_DESCRIPTOR *d = (VIP_DESCRIPTOR *)(world->memory + place * 1024);
    memset(d, 0, sizeof *d);
    d->CS.Control = VIP_CONTROL_OP_SENDRECV;
    d->CS.SegCount = 1;
    d->CS.Length = bytes;
    d->DS[0].Local.Data.Address = (char *)d + 64;
    d->DS[0].Local.Handle = world->handle;
    d->DS[0].Local.Length = bytes;
    return d;
}

/* ---- The list ---------------------------------------------------------------------------------------------------- */

struct test {
    const char *name;
    void (*run)(void);
};

#define TEST(name) {#name, name}
#define MAIN(tests)                                                                                                    \
    int main(void)                                                                                                     \
    {                                                                                                                  \
        size_t n;                                                                                                      \
        for (n = 0; n < sizeof(tests) / sizeof *(tests); n++) {                                                        \
            test_name = (tests)[n].name;                                                                               \
            (tests)[n].run();                                                                                          \
            printf("%s passed\n", test_name);                                                                          \
            fflush(stdout);                                                                                            \
        }                                                                                                              \
        return 0;                                                                                                      \
    }

#endif
