/* Several descriptors in one call: vipl_ext.h, the data path. */
#include <vipl_ext.h>

#include "pair.h"

#define SENT (VIP_STATUS_DONE | VIP_STATUS_OP_SEND)
#define RECEIVED (VIP_STATUS_DONE | VIP_STATUS_OP_RECEIVE)
#define FLUSHED (VIP_STATUS_DONE | VIP_STATUS_DESC_FLUSHED_ERROR | VIP_STATUS_OP_SEND)

/* ---- Posts ------------------------------------------------------------------------------------------------------- */

#define MANY 20

/* So many descriptors of a world from a place on, and the handle of each. */
static VIP_DESCRIPTOR *several[MANY + 1];
static VIP_MEM_HANDLE handles[MANY + 1];

static void prepare(const struct world *world, int first, int count, VIP_UINT32 bytes)
{
    int n;
    for (n = 0; n < count; n++) {
        several[n] = descriptor(world, first + n, bytes);
        handles[n] = world->handle;
    }
}

static void messages_that_are_posted_at_once_arrive_in_their_order(void)
{
    VIP_ULONG posted;
    VIP_DESCRIPTOR *d;
    int round, n;
    begin_connected();
    for (round = 0; round < 3; round++) {
        prepare(&server, 0, MANY, 900);
        OK(VipExtPostRecvMany(there, several, handles, MANY, &posted));
        CHECK(posted == MANY);
        state_of(there);
        prepare(&client, 0, MANY, 900);
        for (n = 0; n < MANY; n++)
            memset((char *)several[n] + 64, 'a' + n + round, 900);
        OK(VipExtPostSendMany(here, several, handles, MANY, &posted));
        CHECK(posted == MANY);
        for (n = 0; n < MANY; n++) {
            OK(VipSendWait(here, 10000, &d));
            CHECK((char *)d == client.memory + 1024 * n && d->CS.Status == SENT);
            OK(VipRecvWait(there, 10000, &d));
            CHECK((char *)d == server.memory + 1024 * n && d->CS.Status == RECEIVED && d->CS.Length == 900);
            CHECK(((char *)d)[64] == 'a' + n + round && ((char *)d)[64 + 899] == 'a' + n + round);
        }
        IS(VipSendDone(here, &d), VIP_DESCRIPTOR_ERROR);
        IS(VipRecvDone(there, &d), VIP_DESCRIPTOR_ERROR);
    }
    end_connected();
}

/* Takes so many sends that an idle VI has flushed, from a place on, and nothing else. */
static void take_flushed(const struct world *world, VIP_VI_HANDLE vi, int first, int count)
{
    VIP_DESCRIPTOR *d;
    int n;
    for (n = 0; n < count; n++) {
        IS(VipSendWait(vi, 5000, &d), VIP_DESCRIPTOR_ERROR);
        CHECK((char *)d == world->memory + 1024 * (first + n) && d->CS.Status == FLUSHED);
    }
    IS(VipSendDone(vi, &d), VIP_DESCRIPTOR_ERROR);
    CHECK(d == NULL);
}

static void what_is_before_an_error_is_posted_and_the_rest_is_the_programs(void)
{
    struct world world;
    VIP_VI_HANDLE vi;
    VIP_MEM_HANDLE other;
    VIP_MEM_ATTRIBUTES attributes;
    VIP_ULONG posted;
    begin(&world, "nic0");
    vi = create_vi(&world, NULL, NULL);
    attributes.Ptag = world.ptag;
    attributes.EnableRdmaWrite = VIP_FALSE;
    attributes.EnableRdmaRead = VIP_FALSE;
    OK(VipRegisterMem(world.nic, world.memory, MEMORY, &attributes, &other));
    /* Each has a handle of its own, and all are posted. */
    prepare(&world, 0, 6, 8);
    handles[1] = handles[3] = handles[4] = other;
    OK(VipExtPostSendMany(vi, several, handles, 6, &posted));
    CHECK(posted == 6);
    take_flushed(&world, vi, 0, 6);
    OK(VipDeregisterMem(world.nic, world.memory, other));
    /* A handle that names nothing any more. */
    prepare(&world, 0, 6, 8);
    handles[3] = other;
    IS(VipExtPostSendMany(vi, several, handles, 6, &posted), VIP_INVALID_PARAMETER);
    CHECK(posted == 3 && several[3]->CS.Status == 0 && several[4]->CS.Status == 0);
    take_flushed(&world, vi, 0, 3);
    /* What is left, when it is right. */
    handles[3] = world.handle;
    OK(VipExtPostSendMany(vi, several + posted, handles + posted, 6 - posted, &posted));
    CHECK(posted == 3);
    take_flushed(&world, vi, 3, 3);
    /* Descriptors that cannot be: the first, and one in the middle. */
    prepare(&world, 0, 6, 8);
    several[0] = NULL;
    IS(VipExtPostSendMany(vi, several, handles, 6, &posted), VIP_INVALID_PARAMETER);
    CHECK(posted == 0);
    several[0] = (VIP_DESCRIPTOR *)world.memory;
    several[2] = (VIP_DESCRIPTOR *)(world.memory + 2 * 1024 + 32);
    IS(VipExtPostSendMany(vi, several, handles, 6, &posted), VIP_INVALID_PARAMETER);
    CHECK(posted == 2);
    take_flushed(&world, vi, 0, 2);
    OK(VipDestroyVi(vi));
    end(&world);
}

static void as_many_are_posted_as_the_queue_has_room_for(void)
{
    static VIP_DESCRIPTOR *all[1100];
    static VIP_MEM_HANDLE all_handles[1100];
    struct world world;
    VIP_NIC_ATTRIBUTES is;
    VIP_VI_HANDLE vi;
    VIP_ULONG posted, n;
    begin(&world, "nic0");
    OK(VipQueryNic(world.nic, &is));
    vi = create_vi(&world, NULL, NULL);
    CHECK(is.MaxDescriptorsPerQueue < 1100 && is.MaxDescriptorsPerQueue * 64 <= MEMORY);
    for (n = 0; n < 1100; n++) {
        all[n] = (VIP_DESCRIPTOR *)(world.memory + 64 * (n % (MEMORY / 64)));
        all_handles[n] = world.handle;
    }
    OK(VipPostRecv(vi, all[0], world.handle));
    IS(VipExtPostRecvMany(vi, all + 1, all_handles, 1099, &posted), VIP_ERROR_RESOURCE);
    CHECK(posted == is.MaxDescriptorsPerQueue - 1);
    IS(VipExtPostRecvMany(vi, all, all_handles, 1, &posted), VIP_ERROR_RESOURCE);
    CHECK(posted == 0);
    /* Of none there is room. */
    OK(VipExtPostRecvMany(vi, all, all_handles, 0, &posted));
    CHECK(posted == 0);
    OK(VipCloseNic(world.nic));
    free(world.memory);
}

static void calls_without_a_place_or_a_vi_are_invalid_parameters(void)
{
    struct world world;
    VIP_VI_HANDLE vi;
    VIP_DESCRIPTOR *d;
    VIP_ULONG posted = 7;
    begin(&world, "nic0");
    vi = create_vi(&world, NULL, NULL);
    prepare(&world, 0, 2, 8);
    IS(VipExtPostSendMany(vi, several, handles, 2, NULL), VIP_INVALID_PARAMETER);
    IS(VipExtPostSendMany(vi, NULL, handles, 2, &posted), VIP_INVALID_PARAMETER);
    IS(VipExtPostRecvMany(vi, several, NULL, 2, &posted), VIP_INVALID_PARAMETER);
    IS(VipExtPostSendMany(NULL, several, handles, 2, &posted), VIP_INVALID_PARAMETER);
    CHECK(posted == 0);
    OK(VipExtPostSendMany(vi, NULL, NULL, 0, &posted));
    /* Nothing is posted by any of them. */
    IS(VipSendDone(vi, &d), VIP_DESCRIPTOR_ERROR);
    CHECK(d == NULL);
    IS(VipRecvDone(vi, &d), VIP_DESCRIPTOR_ERROR);
    CHECK(d == NULL);
    OK(VipDestroyVi(vi));
    end(&world);
}

static const struct test tests[] = {
    TEST(messages_that_are_posted_at_once_arrive_in_their_order),
    TEST(what_is_before_an_error_is_posted_and_the_rest_is_the_programs),
    TEST(as_many_are_posted_as_the_queue_has_room_for),
    TEST(calls_without_a_place_or_a_vi_are_invalid_parameters),
};

MAIN(tests)
