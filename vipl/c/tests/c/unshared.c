/* VIs and completion queues that the program has said no two threads use at one time. Beside VIPL. */
#include <vipl_ext.h>

#include "pair.h"

#define SENT (VIP_STATUS_DONE | VIP_STATUS_OP_SEND)
#define FLUSHED (VIP_STATUS_DONE | VIP_STATUS_DESC_FLUSHED_ERROR | VIP_STATUS_OP_SEND)

static VIP_BOOLEAN is_thread_safe(const struct world *world)
{
    VIP_NIC_ATTRIBUTES is;
    OK(VipQueryNic(world->nic, &is));
    return is.ThreadSafe;
}

/* A NIC whose VIs and completion queues are no more thread-safe from now on. */
static void begin_unshared(struct world *world, const char *name)
{
    begin(world, name);
    OK(VipExtSetThreadSafe(world->nic, VIP_FALSE));
}

/* Takes the oldest send, which an idle VI has flushed. */
static VIP_DESCRIPTOR *flushed(VIP_VI_HANDLE vi)
{
    VIP_DESCRIPTOR *d;
    VIP_RETURN answer;
    do
        answer = VipSendDone(vi, &d);
    while (answer == VIP_NOT_DONE);
    CHECK(answer == VIP_DESCRIPTOR_ERROR && d != NULL && d->CS.Status == FLUSHED);
    return d;
}

/* Handlers that nothing is there for. */
static void on_vi(VIP_PVOID context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, VIP_DESCRIPTOR *d)
{
    CHECK(!context && !nic && !vi && !d);
}

static void on_cq(VIP_PVOID context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, VIP_BOOLEAN of_receive)
{
    CHECK(!context && !nic && !vi && !of_receive);
}

static void what_is_created_is_thread_safe_unless_the_program_says_otherwise_before(void)
{
    struct world world, other;
    VIP_VI_HANDLE vi, later;
    VIP_CQ_HANDLE cq, later_cq;
    begin(&world, "nic0");
    begin(&other, "nic0");
    CHECK(is_thread_safe(&world));
    vi = create_vi(&world, NULL, NULL);
    OK(VipCreateCQ(world.nic, 16, &cq));
    OK(VipExtSetThreadSafe(world.nic, VIP_FALSE));
    CHECK(!is_thread_safe(&world));
    /* Another handle of the same NIC is another matter. */
    CHECK(is_thread_safe(&other));
    later = create_vi(&world, NULL, NULL);
    OK(VipCreateCQ(world.nic, 16, &later_cq));
    OK(VipExtSetThreadSafe(world.nic, VIP_TRUE));
    CHECK(is_thread_safe(&world));
    /* Each is as it was created: they differ in who may be told of what is complete. */
    OK(VipSendNotify(vi, NULL, on_vi));
    OK(VipCQNotify(cq, NULL, on_cq));
    IS(VipSendNotify(later, NULL, on_vi), VIP_ERROR_NOT_SUPPORTED);
    IS(VipCQNotify(later_cq, NULL, on_cq), VIP_ERROR_NOT_SUPPORTED);
    OK(VipDestroyVi(vi));
    OK(VipDestroyVi(later));
    OK(VipDestroyCQ(cq));
    OK(VipDestroyCQ(later_cq));
    IS(VipExtSetThreadSafe(NULL, VIP_FALSE), VIP_INVALID_PARAMETER);
    IS(VipExtSetThreadSafe(vi, VIP_FALSE), VIP_INVALID_PARAMETER);
    end(&other);
    end(&world);
}

/* Messages from `here` to `there`, which is polled and waited for in turn. */
static void messages(int count)
{
    VIP_DESCRIPTOR *d;
    VIP_RETURN answer;
    int n;
    for (n = 0; n < count; n++) {
        post_recv(descriptor(&server, n % 8, 500));
        d = descriptor(&client, n % 8, 500);
        memset((char *)d + 64, 'a' + n % 26, 500);
        OK(VipPostSend(here, d, client.handle));
        if (n % 2) {
            OK(VipRecvWait(there, 10000, &d));
        } else {
            do
                answer = VipRecvDone(there, &d);
            while (answer == VIP_NOT_DONE);
            CHECK(answer == VIP_SUCCESS);
        }
        CHECK((char *)d == server.memory + 1024 * (n % 8) && d->CS.Length == 500);
        CHECK(((char *)d)[64] == 'a' + n % 26 && ((char *)d)[64 + 499] == 'a' + n % 26);
        OK(VipSendWait(here, 10000, &d));
        CHECK((char *)d == client.memory + 1024 * (n % 8) && d->CS.Status == SENT);
    }
}

static void unshared_vis_carry_messages_also_when_they_are_connected_anew(void)
{
    VIP_DESCRIPTOR *d;
    int round;
    begin_unshared(&server, "nic0");
    begin_unshared(&client, "nic1");
    there = create_vi(&server, NULL, NULL);
    here = create_vi(&client, NULL, NULL);
    for (round = 0; round < 3; round++) {
        OK(meet(there, here));
        messages(40);
        /* What is posted when the connection ends is flushed. */
        post_recv(descriptor(&server, 0, 100));
        OK(VipDisconnect(here));
        OK(VipDisconnect(there));
        IS(VipRecvDone(there, &d), VIP_DESCRIPTOR_ERROR);
        CHECK((char *)d == server.memory && (d->CS.Status & VIP_STATUS_DESC_FLUSHED_ERROR));
        CHECK(state_of(here) == VIP_STATE_IDLE && state_of(there) == VIP_STATE_IDLE);
    }
    OK(VipDestroyVi(here));
    OK(VipDestroyVi(there));
    end_both();
}

static void an_unshared_vi_is_connected_with_one_that_is_shared(void)
{
    begin_both();
    OK(VipExtSetThreadSafe(client.nic, VIP_FALSE));
    there = create_vi(&server, NULL, NULL);
    here = create_vi(&client, NULL, NULL);
    OK(meet(there, here));
    messages(20);
    end_connected();
}

static void unshared_completion_queues_give_entries_and_descriptors(void)
{
    VIP_EXT_COMPLETION found[8];
    struct world world;
    VIP_CQ_HANDLE cq;
    VIP_VI_HANDLE vi, from;
    VIP_BOOLEAN of_receive;
    VIP_RETURN answer;
    VIP_ULONG count, taken;
    int n;
    begin_unshared(&world, "nic0");
    OK(VipCreateCQ(world.nic, 64, &cq));
    vi = create_vi(&world, cq, cq);
    IS(VipCQDone(cq, &from, &of_receive), VIP_NOT_DONE);
    IS(VipExtCQPoll(cq, found, 8, &count), VIP_NOT_DONE);
    /* More than the ring of the queue holds. */
    for (n = 0; n < 200; n++) {
        OK(VipPostSend(vi, descriptor(&world, n % 8, 8), world.handle));
        do
            answer = VipCQDone(cq, &from, &of_receive);
        while (answer == VIP_NOT_DONE);
        CHECK(answer == VIP_SUCCESS && from == vi && !of_receive);
        CHECK((char *)flushed(vi) == world.memory + 1024 * (n % 8));
    }
    for (n = 0; n < 8; n++)
        OK(VipPostSend(vi, descriptor(&world, n, 8), world.handle));
    for (taken = 0; taken < 8; taken += count) {
        answer = VipExtCQPoll(cq, found + taken, 8 - taken, &count);
        CHECK(answer == (count ? VIP_SUCCESS : VIP_NOT_DONE));
    }
    for (n = 0; n < 8; n++)
        CHECK(found[n].ViHandle == vi && (char *)found[n].Descriptor == world.memory + 1024 * n);
    OK(VipPostSend(vi, descriptor(&world, 0, 8), world.handle));
    OK(VipCQWait(cq, 10000, &from, &of_receive));
    flushed(vi);
    OK(VipResizeCQ(cq, 128));
    IS(VipDestroyCQ(cq), VIP_ERROR_RESOURCE);
    OK(VipDestroyVi(vi));
    OK(VipDestroyCQ(cq));
    IS(VipCQDone(cq, &from, &of_receive), VIP_INVALID_PARAMETER);
    IS(VipExtCQPoll(cq, found, 8, &count), VIP_INVALID_PARAMETER);
    end(&world);
}

static void wrong_calls_of_an_unshared_vi_are_told_as_of_others(void)
{
    struct world world;
    VIP_NIC_ATTRIBUTES is;
    VIP_MEM_ATTRIBUTES attributes;
    VIP_MEM_HANDLE other;
    VIP_VI_HANDLE vi, next;
    VIP_DESCRIPTOR *d;
    VIP_ULONG n;
    begin_unshared(&world, "nic0");
    OK(VipQueryNic(world.nic, &is));
    vi = create_vi(&world, NULL, NULL);
    d = descriptor(&world, 0, 8);
    IS(VipPostSend(vi, NULL, world.handle), VIP_INVALID_PARAMETER);
    IS(VipPostSend(vi, (VIP_DESCRIPTOR *)((char *)d + 32), world.handle), VIP_INVALID_PARAMETER);
    IS(VipPostSend(vi, d, world.handle + 1), VIP_INVALID_PARAMETER);
    IS(VipSendDone(vi, NULL), VIP_INVALID_PARAMETER);
    IS(VipSendDone(vi, &d), VIP_DESCRIPTOR_ERROR);
    CHECK(d == NULL);
    /* Another region, and back. */
    attributes.Ptag = world.ptag;
    attributes.EnableRdmaWrite = VIP_FALSE;
    attributes.EnableRdmaRead = VIP_FALSE;
    OK(VipRegisterMem(world.nic, world.memory, MEMORY, &attributes, &other));
    for (n = 0; n < 6; n++)
        OK(VipPostSend(vi, descriptor(&world, (int)n, 8), n % 2 ? other : world.handle));
    for (n = 0; n < 6; n++)
        CHECK((char *)flushed(vi) == world.memory + 1024 * n);
    OK(VipDeregisterMem(world.nic, world.memory, other));
    IS(VipPostSend(vi, descriptor(&world, 0, 8), other), VIP_INVALID_PARAMETER);
    memset(world.memory, 0, MEMORY);
    /* A full queue, which keeps the VI from being destroyed. */
    for (n = 0; n < is.MaxDescriptorsPerQueue; n++)
        OK(VipPostRecv(vi, (VIP_DESCRIPTOR *)(world.memory + 64 * n), world.handle));
    IS(VipPostRecv(vi, (VIP_DESCRIPTOR *)world.memory, world.handle), VIP_ERROR_RESOURCE);
    IS(VipRecvDone(vi, &d), VIP_NOT_DONE);
    IS(VipDestroyVi(vi), VIP_ERROR_RESOURCE);
    IS(VipRecvNotify(vi, NULL, on_vi), VIP_ERROR_NOT_SUPPORTED);
    /* VipCloseNic ends it all the same; another VI is not taken for it. */
    OK(VipCloseNic(world.nic));
    IS(VipRecvDone(vi, &d), VIP_INVALID_PARAMETER);
    IS(VipPostSend(vi, (VIP_DESCRIPTOR *)world.memory, world.handle), VIP_INVALID_PARAMETER);
    free(world.memory);
    begin(&world, "nic0");
    next = create_vi(&world, NULL, NULL);
    IS(VipPostSend(vi, descriptor(&world, 0, 8), world.handle), VIP_INVALID_PARAMETER);
    OK(VipPostSend(next, descriptor(&world, 0, 8), world.handle));
    flushed(next);
    OK(VipDestroyVi(next));
    end(&world);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

#define THREADS 4
#define EACH 500

/* What a thread has of its own: a VI with a completion queue, and a place for its descriptors. */
struct side {
    const struct world *world;
    VIP_VI_HANDLE vi;
    VIP_CQ_HANDLE cq;
    int place;
    pthread_t thread;
};

static void *go_round(void *argument)
{
    struct side *side = (struct side *)argument;
    VIP_DESCRIPTOR *d;
    VIP_VI_HANDLE from;
    VIP_BOOLEAN of_receive;
    VIP_RETURN answer;
    int n;
    for (n = 0; n < EACH; n++) {
        d = descriptor(side->world, side->place + n % 4, 8);
        OK(VipPostSend(side->vi, d, side->world->handle));
        do
            answer = VipCQDone(side->cq, &from, &of_receive);
        while (answer == VIP_NOT_DONE);
        CHECK(answer == VIP_SUCCESS && from == side->vi && !of_receive);
        CHECK(flushed(side->vi) == d);
    }
    return NULL;
}

static void threads_that_have_unshared_vis_of_their_own_are_not_in_each_others_way(void)
{
    struct side sides[THREADS];
    struct world world;
    int n, round;
    begin_unshared(&world, "nic0");
    for (n = 0; n < THREADS; n++) {
        sides[n].world = &world;
        sides[n].place = 4 * n;
        OK(VipCreateCQ(world.nic, 64, &sides[n].cq));
        sides[n].vi = create_vi(&world, sides[n].cq, NULL);
    }
    /* Other threads go on with them: the end of a thread hands over what it had. */
    for (round = 0; round < 2; round++) {
        for (n = 0; n < THREADS; n++)
            CHECK(pthread_create(&sides[n].thread, NULL, go_round, &sides[n]) == 0);
        for (n = 0; n < THREADS; n++)
            CHECK(pthread_join(sides[n].thread, NULL) == 0);
    }
    for (n = 0; n < THREADS; n++) {
        OK(VipDestroyVi(sides[n].vi));
        OK(VipDestroyCQ(sides[n].cq));
    }
    end(&world);
}

/* Errors that the library's own thread has told. */
static volatile int told;

static void count_error(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error)
{
    CHECK(context == &client && error->ResourceCode == VIP_RESOURCE_VI && error->ViHandle == here);
    told += error->ErrorCode == VIP_ERROR_CONN_LOST;
}

static void the_librarys_threads_tell_of_an_unshared_vi_while_the_program_posts_to_it(void)
{
    VIP_DESCRIPTOR *d;
    double start = seconds();
    begin_unshared(&server, "nic0");
    begin_unshared(&client, "nic1");
    OK(VipErrorCallback(client.nic, &client, count_error));
    there = create_vi(&server, NULL, NULL);
    here = create_vi(&client, NULL, NULL);
    OK(meet(there, here));
    OK(VipDisconnect(there));
    while (!told && seconds() - start < 20) {
        OK(VipPostSend(here, descriptor(&client, 0, 8), client.handle));
        VipSendWait(here, 10000, &d);
        CHECK((char *)d == client.memory);
    }
    CHECK(told == 1);
    end_connected();
}

static const struct test tests[] = {
    TEST(what_is_created_is_thread_safe_unless_the_program_says_otherwise_before),
    TEST(unshared_vis_carry_messages_also_when_they_are_connected_anew),
    TEST(an_unshared_vi_is_connected_with_one_that_is_shared),
    TEST(unshared_completion_queues_give_entries_and_descriptors),
    TEST(wrong_calls_of_an_unshared_vi_are_told_as_of_others),
    TEST(threads_that_have_unshared_vis_of_their_own_are_not_in_each_others_way),
    TEST(the_librarys_threads_tell_of_an_unshared_vi_while_the_program_posts_to_it),
};

MAIN(tests)
