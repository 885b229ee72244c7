/* Memory that the library allocates: registered, used and freed. Beside VIPL. */
#include <vipl_ext.h>

#include "pair.h"

#define BYTES 10000

static VIP_MEM_HANDLE register_at(const struct world *world, char *memory, VIP_ULONG length)
{
    VIP_MEM_ATTRIBUTES attributes;
    VIP_MEM_HANDLE handle = 0;
    attributes.Ptag = world->ptag;
    attributes.EnableRdmaWrite = VIP_FALSE;
    attributes.EnableRdmaRead = VIP_FALSE;
    OK(VipRegisterMem(world->nic, memory, length, &attributes, &handle));
    return handle;
}

static char *allocate(const struct world *world, VIP_ULONG length)
{
    VIP_PVOID memory = NULL;
    VIP_ULONG n;
    OK(VipExtAllocateMem(world->nic, length, &memory));
    CHECK(memory != NULL && (unsigned long)memory % 4096 == 0);
    for (n = 0; n < length; n++)
        CHECK(((char *)memory)[n] == 0);
    return (char *)memory;
}

static VIP_DESCRIPTOR *descriptor_in(char *memory, VIP_MEM_HANDLE handle)
{
    VIP_DESCRIPTOR *d = (VIP_DESCRIPTOR *)memory;
    memset(d, 0, sizeof *d);
    d->CS.Control = VIP_CONTROL_OP_SENDRECV;
    d->CS.SegCount = 1;
    d->CS.Length = BYTES;
    d->DS[0].Local.Data.Address = memory + 101;
    d->DS[0].Local.Handle = handle;
    d->DS[0].Local.Length = BYTES;
    return d;
}

static void memory_of_the_librarys_is_zero_and_carries_messages(void)
{
    VIP_MEM_HANDLE from, to;
    VIP_DESCRIPTOR *d;
    char *out, *in;
    int turn, n;
    begin_connected();
    /* What was freed comes back. */
    for (turn = 0; turn < 3; turn++) {
        out = allocate(&client, 2 * BYTES);
        in = allocate(&server, 2 * BYTES);
        from = register_at(&client, out, 2 * BYTES);
        /* A part of it. */
        to = register_at(&server, in, BYTES + 200);
        for (n = 0; n < BYTES; n++)
            out[101 + n] = (char)(n * 7 + turn);
        OK(VipPostRecv(there, descriptor_in(in, to), to));
        state_of(there);
        OK(VipPostSend(here, descriptor_in(out, from), from));
        OK(VipRecvWait(there, 5000, &d));
        CHECK(d == (VIP_DESCRIPTOR *)in && d->CS.Length == BYTES);
        OK(VipSendWait(here, 5000, &d));
        CHECK(memcmp(in + 101, out + 101, BYTES) == 0 && in[101 + BYTES] == 0);
        OK(VipDeregisterMem(client.nic, out, from));
        OK(VipDeregisterMem(server.nic, in, to));
        OK(VipExtFreeMem(client.nic, out));
        OK(VipExtFreeMem(server.nic, in));
    }
    end_connected();
}

static void memory_that_is_registered_is_not_freed(void)
{
    struct world world;
    VIP_MEM_HANDLE handle;
    VIP_PVOID memory = NULL;
    char *bytes;
    begin(&world, "nic0");
    IS(VipExtAllocateMem(world.nic, 0, &memory), VIP_INVALID_PARAMETER);
    IS(VipExtAllocateMem(world.nic, 4096, NULL), VIP_INVALID_PARAMETER);
    IS(VipExtAllocateMem(NULL, 4096, &memory), VIP_INVALID_PARAMETER);
    IS(VipExtAllocateMem(world.nic, ~0UL, &memory), VIP_ERROR_RESOURCE);
    CHECK(memory == NULL);
    bytes = allocate(&world, 8192);
    handle = register_at(&world, bytes + 5000, 10);
    IS(VipExtFreeMem(world.nic, bytes), VIP_INVALID_STATE);
    IS(VipExtFreeMem(world.nic, bytes + 4096), VIP_INVALID_PARAMETER);
    IS(VipExtFreeMem(world.nic, world.memory), VIP_INVALID_PARAMETER);
    OK(VipDeregisterMem(world.nic, bytes + 5000, handle));
    OK(VipExtFreeMem(world.nic, bytes));
    IS(VipExtFreeMem(world.nic, bytes), VIP_INVALID_PARAMETER);
    IS(VipExtFreeMem(world.nic, NULL), VIP_INVALID_PARAMETER);
    end(&world);
}

static void what_is_not_freed_ends_with_the_nic(void)
{
    struct world world;
    int turn, n;
    for (turn = 0; turn < 20; turn++) {
        begin(&world, "nic0");
        for (n = 0; n < 10; n++)
            allocate(&world, 100000);
        register_at(&world, allocate(&world, 8192), 8192);
        OK(VipCloseNic(world.nic));
        free(world.memory);
    }
}

static const struct test tests[] = {
    TEST(memory_of_the_librarys_is_zero_and_carries_messages),
    TEST(memory_that_is_registered_is_not_freed),
    TEST(what_is_not_freed_ends_with_the_nic),
};

MAIN(tests)
