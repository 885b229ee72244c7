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

/* ---- Polls ------------------------------------------------------------------------------------------------------- */

static VIP_EXT_COMPLETION found[64];

/* Takes exactly so many completions, with room for so many at a time. */
static void take(VIP_CQ_HANDLE cq, VIP_ULONG all, VIP_ULONG room)
{
    double start = seconds();
    VIP_ULONG count, taken = 0;
    VIP_RETURN answer;
    while (taken < all && seconds() - start < 20) {
        count = 99;
        answer = VipExtCQPoll(cq, found + taken, room < all - taken ? room : all - taken, &count);
        CHECK(count <= room && answer == (count ? VIP_SUCCESS : VIP_NOT_DONE));
        taken += count;
    }
    CHECK(taken == all);
    IS(VipExtCQPoll(cq, found + taken, 1, &count), VIP_NOT_DONE);
    CHECK(count == 0);
}

static void a_poll_gives_vi_context_queue_and_descriptor(void)
{
    struct world world;
    VIP_CQ_HANDLE cq;
    VIP_VI_HANDLE vis[3];
    VIP_ULONG posted;
    int n;
    begin(&world, "nic0");
    OK(VipCreateCQ(world.nic, 64, &cq));
    for (n = 0; n < 3; n++) {
        vis[n] = create_vi(&world, cq, cq);
        VipSetUserData(vis[n], n == 2 ? NULL : (char *)&world + n);
        CHECK(VipGetUserData(vis[n]) == (n == 2 ? NULL : (char *)&world + n));
    }
    take(cq, 0, 1);
    for (n = 0; n < 3; n++) {
        prepare(&world, 20 * n, 20, 8);
        OK(VipExtPostSendMany(vis[n], several, handles, 20, &posted));
        take(cq, 20, n == 0 ? 7 : 60);
        for (posted = 0; posted < 20; posted++) {
            CHECK(found[posted].ViHandle == vis[n] && !found[posted].RecvQueue);
            CHECK(found[posted].Context == VipGetUserData(vis[n]));
            CHECK((char *)found[posted].Descriptor == world.memory + 1024 * (20 * n + (int)posted));
            CHECK(found[posted].Descriptor->CS.Status == FLUSHED);
        }
    }
    for (n = 0; n < 3; n++)
        OK(VipDestroyVi(vis[n]));
    OK(VipDestroyCQ(cq));
    end(&world);
}

static void a_poll_takes_what_has_arrived(void)
{
    VIP_CQ_HANDLE cq;
    VIP_VI_ATTRIBUTES attributes;
    VIP_DESCRIPTOR *d;
    VIP_ULONG posted;
    int n;
    begin_both();
    OK(VipCreateCQ(server.nic, 64, &cq));
    there = create_vi(&server, cq, cq);
    attributes = vi_attributes(&client);
    OK(VipCreateVi(client.nic, &attributes, NULL, NULL, &here));
    prepare(&server, 0, MANY, 900);
    OK(VipExtPostRecvMany(there, several, handles, MANY, &posted));
    OK(meet(there, here));
    prepare(&client, 0, MANY, 900);
    for (n = 0; n < MANY; n++)
        memset((char *)several[n] + 64, 'A' + n, 900);
    OK(VipExtPostSendMany(here, several, handles, MANY, &posted));
    take(cq, MANY, 6);
    for (n = 0; n < MANY; n++) {
        d = found[n].Descriptor;
        CHECK(found[n].ViHandle == there && found[n].RecvQueue && found[n].Context == NULL);
        CHECK((char *)d == server.memory + 1024 * n && d->CS.Status == RECEIVED && d->CS.Length == 900);
        CHECK(((char *)d)[64] == 'A' + n && ((char *)d)[64 + 899] == 'A' + n);
        OK(VipSendWait(here, 10000, &d));
    }
    OK(VipDisconnect(here));
    OK(VipDisconnect(there));
    OK(VipDestroyVi(here));
    OK(VipDestroyVi(there));
    OK(VipDestroyCQ(cq));
    end_both();
}

static void what_is_taken_by_done_or_destroyed_is_passed_over(void)
{
    struct world world;
    VIP_CQ_HANDLE cq;
    VIP_VI_HANDLE vi, other;
    VIP_DESCRIPTOR *d;
    VIP_ULONG posted, count;
    VIP_RETURN answer;
    int n;
    begin(&world, "nic0");
    OK(VipCreateCQ(world.nic, 64, &cq));
    vi = create_vi(&world, cq, NULL);
    other = create_vi(&world, cq, NULL);
    prepare(&world, 0, 4, 8);
    OK(VipExtPostSendMany(vi, several, handles, 4, &posted));
    for (n = 0; n < 3; n++) {
        do
            answer = VipSendDone(vi, &d);
        while (answer == VIP_NOT_DONE);
        CHECK(answer == VIP_DESCRIPTOR_ERROR && (char *)d == world.memory + 1024 * n);
    }
    take(cq, 1, 64);
    CHECK(found[0].ViHandle == vi && (char *)found[0].Descriptor == world.memory + 3 * 1024);
    /* Of a VI that is destroyed no entry is left. */
    OK(VipPostSend(other, several[0], world.handle));
    do
        answer = VipSendDone(other, &d);
    while (answer == VIP_NOT_DONE);
    OK(VipDestroyVi(other));
    OK(VipPostSend(vi, several[1], world.handle));
    take(cq, 1, 64);
    CHECK(found[0].ViHandle == vi && found[0].Descriptor == several[1]);
    /* No place, no room, no queue. */
    IS(VipExtCQPoll(cq, NULL, 1, &count), VIP_INVALID_PARAMETER);
    IS(VipExtCQPoll(cq, found, 1, NULL), VIP_INVALID_PARAMETER);
    IS(VipExtCQPoll(cq, found, 0, &count), VIP_INVALID_PARAMETER);
    IS(VipExtCQPoll(vi, found, 1, &count), VIP_INVALID_PARAMETER);
    CHECK(count == 0);
    OK(VipDestroyVi(vi));
    OK(VipDestroyCQ(cq));
    IS(VipExtCQPoll(cq, found, 1, &count), VIP_INVALID_PARAMETER);
    end(&world);
}

static const struct test tests[] = {
    TEST(messages_that_are_posted_at_once_arrive_in_their_order),
    TEST(what_is_before_an_error_is_posted_and_the_rest_is_the_programs),
    TEST(as_many_are_posted_as_the_queue_has_room_for),
    TEST(calls_without_a_place_or_a_vi_are_invalid_parameters),
    TEST(a_poll_gives_vi_context_queue_and_descriptor),
    TEST(a_poll_takes_what_has_arrived),
    TEST(what_is_taken_by_done_or_destroyed_is_passed_over),
};

MAIN(tests)
