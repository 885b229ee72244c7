/* Completion queues and handlers, with what an idle VI completes: sends, flushed. */
#include <pthread.h>

#include "check.h"

static void an_entry_names_vi_and_queue(void)
{
    struct world world;
    VIP_CQ_HANDLE cq;
    VIP_VI_HANDLE vis[3], vi;
    VIP_BOOLEAN receive;
    VIP_DESCRIPTOR *d;
    int n;
    begin(&world, "nic0");
    OK(VipCreateCQ(world.nic, 64, &cq));
    for (n = 0; n < 3; n++)
        vis[n] = create_vi(&world, cq, cq);
    IS(VipCQDone(cq, &vi, &receive), VIP_NOT_DONE);
    for (n = 0; n < 3; n++) {
        OK(VipPostSend(vis[n], descriptor(&world, n, 64), world.handle));
        receive = VIP_TRUE;
        OK(VipCQWait(cq, 5000, &vi, &receive));
        CHECK(vi == vis[n] && !receive);
        /* The status was written before the entry. */
        IS(VipSendDone(vi, &d), VIP_DESCRIPTOR_ERROR);
        CHECK((char *)d == world.memory + 1024 * n);
    }
    IS(VipCQDone(cq, &vi, &receive), VIP_NOT_DONE);
    IS(VipCQWait(cq, 20, &vi, &receive), VIP_TIMEOUT);
    IS(VipCQDone(cq, NULL, &receive), VIP_INVALID_PARAMETER);
    IS(VipCQWait(cq, 0, &vi, NULL), VIP_INVALID_PARAMETER);
    for (n = 0; n < 3; n++)
        OK(VipDestroyVi(vis[n]));
    OK(VipDestroyCQ(cq));
    end(&world);
}

static void a_queue_that_vis_have_is_not_destroyed(void)
{
    struct world world;
    VIP_CQ_HANDLE cq;
    VIP_VI_HANDLE vi;
    begin(&world, "nic0");
    OK(VipCreateCQ(world.nic, 1024, &cq));
    vi = create_vi(&world, NULL, cq);
    IS(VipDestroyCQ(cq), VIP_ERROR_RESOURCE);
    OK(VipDestroyVi(vi));
    OK(VipDestroyCQ(cq));
    IS(VipCreateCQ(world.nic, 0, &cq), VIP_INVALID_PARAMETER);
    IS(VipCreateCQ(world.nic, ~0UL, &cq), VIP_INVALID_PARAMETER);
    IS(VipCreateCQ(world.nic, 5, NULL), VIP_INVALID_PARAMETER);
    end(&world);
}

static void a_resize_keeps_entries(void)
{
    struct world world;
    VIP_CQ_HANDLE cq;
    VIP_VI_HANDLE vi, from;
    VIP_BOOLEAN receive;
    VIP_DESCRIPTOR *d;
    int n;
    begin(&world, "nic0");
    OK(VipCreateCQ(world.nic, 16, &cq));
    vi = create_vi(&world, cq, NULL);
    for (n = 0; n < 8; n++)
        OK(VipPostSend(vi, descriptor(&world, n, 64), world.handle));
    OK(VipResizeCQ(cq, 500));
    for (n = 0; n < 8; n++) {
        OK(VipCQWait(cq, 5000, &from, &receive));
        CHECK(from == vi && !receive);
        IS(VipSendDone(vi, &d), VIP_DESCRIPTOR_ERROR);
        CHECK((char *)d == world.memory + 1024 * n);
    }
    IS(VipResizeCQ(cq, 0), VIP_INVALID_PARAMETER);
    OK(VipDestroyVi(vi));
    OK(VipDestroyCQ(cq));
    end(&world);
}

static void a_work_queue_with_a_completion_queue_is_not_waited_for(void)
{
    struct world world;
    VIP_CQ_HANDLE cq;
    VIP_VI_HANDLE vi;
    VIP_DESCRIPTOR *d;
    begin(&world, "nic0");
    OK(VipCreateCQ(world.nic, 16, &cq));
    vi = create_vi(&world, cq, cq);
    IS(VipSendWait(vi, 0, &d), VIP_INVALID_PARAMETER);
    IS(VipRecvWait(vi, 0, &d), VIP_INVALID_PARAMETER);
    OK(VipDestroyVi(vi));
    OK(VipDestroyCQ(cq));
    end(&world);
}

/* ---- Handlers ---------------------------------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t called = PTHREAD_COND_INITIALIZER;
/* What handlers were called with, in order: the bytes of their contexts. */
static char calls[64];
static VIP_NIC_HANDLE called_nic;
static VIP_VI_HANDLE called_vi;
static VIP_BOOLEAN called_receive;
static VIP_DESCRIPTOR *called_descriptor;

static void note(void *context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi)
{
    pthread_mutex_lock(&lock);
    strcat(calls, (const char *)context);
    called_nic = nic;
    called_vi = vi;
    pthread_cond_broadcast(&called);
    pthread_mutex_unlock(&lock);
}

static void on_cq(void *context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, VIP_BOOLEAN receive)
{
    called_receive = receive;
    note(context, nic, vi);
}

static void on_vi(void *context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, VIP_DESCRIPTOR *d)
{
    called_descriptor = d;
    note(context, nic, vi);
}

static void await(const char *all)
{
    double start = seconds();
    pthread_mutex_lock(&lock);
    while (strcmp(calls, all) != 0 && seconds() - start < 10) {
        pthread_mutex_unlock(&lock);
        usleep(1000);
        pthread_mutex_lock(&lock);
    }
    if (strcmp(calls, all) != 0)
        printf("called: %s, not %s\n", calls, all);
    CHECK(strcmp(calls, all) == 0);
    pthread_mutex_unlock(&lock);
}

static void a_handler_is_called_at_once_if_there_is_an_entry(void)
{
    struct world world;
    VIP_CQ_HANDLE cq;
    VIP_VI_HANDLE vi, from;
    VIP_BOOLEAN receive;
    VIP_DESCRIPTOR *d;
    char a[] = "a";
    calls[0] = 0;
    begin(&world, "nic0");
    OK(VipCreateCQ(world.nic, 16, &cq));
    vi = create_vi(&world, cq, cq);
    OK(VipPostSend(vi, descriptor(&world, 0, 64), world.handle));
    usleep(300000);
    OK(VipCQNotify(cq, a, on_cq));
    await("a");
    CHECK(called_nic == world.nic && called_vi == vi && !called_receive);
    /* The handler has the entry. */
    IS(VipCQDone(cq, &from, &receive), VIP_NOT_DONE);
    IS(VipSendDone(vi, &d), VIP_DESCRIPTOR_ERROR);
    IS(VipCQNotify(cq, a, NULL), VIP_INVALID_PARAMETER);
    OK(VipDestroyVi(vi));
    OK(VipDestroyCQ(cq));
    end(&world);
}

static void handlers_are_called_once_each_in_their_order(void)
{
    struct world world;
    VIP_CQ_HANDLE cq;
    VIP_VI_HANDLE vi;
    VIP_DESCRIPTOR *d;
    char a[] = "a", b[] = "b", c[] = "c";
    int n;
    calls[0] = 0;
    begin(&world, "nic0");
    OK(VipCreateCQ(world.nic, 16, &cq));
    vi = create_vi(&world, cq, cq);
    OK(VipCQNotify(cq, a, on_cq));
    OK(VipCQNotify(cq, b, on_cq));
    OK(VipCQNotify(cq, c, on_cq));
    usleep(20000);
    await("");
    for (n = 0; n < 2; n++)
        OK(VipPostSend(vi, descriptor(&world, n, 64), world.handle));
    await("ab");
    usleep(100000);
    await("ab");
    OK(VipPostSend(vi, descriptor(&world, 2, 64), world.handle));
    await("abc");
    for (n = 0; n < 3; n++)
        IS(VipSendDone(vi, &d), VIP_DESCRIPTOR_ERROR);
    OK(VipDestroyVi(vi));
    OK(VipDestroyCQ(cq));
    end(&world);
}

static void destroying_a_queue_cancels_its_handlers(void)
{
    struct world world;
    VIP_CQ_HANDLE cq;
    VIP_VI_HANDLE vi;
    char a[] = "a", b[] = "b";
    calls[0] = 0;
    begin(&world, "nic0");
    OK(VipCreateCQ(world.nic, 16, &cq));
    OK(VipCQNotify(cq, a, on_cq));
    OK(VipDestroyCQ(cq));
    vi = create_vi(&world, NULL, NULL);
    OK(VipRecvNotify(vi, b, on_vi));
    OK(VipDestroyVi(vi));
    await("");
    end(&world);
}

static void a_work_queue_calls_its_handler_once(void)
{
    struct world world;
    VIP_VI_HANDLE vi;
    VIP_DESCRIPTOR *d;
    char a[] = "a", b[] = "b";
    calls[0] = 0;
    begin(&world, "nic0");
    vi = create_vi(&world, NULL, NULL);
    OK(VipSendNotify(vi, a, on_vi));
    OK(VipPostSend(vi, descriptor(&world, 3, 64), world.handle));
    await("a");
    CHECK((char *)called_descriptor == world.memory + 3 * 1024 && called_vi == vi && called_nic == world.nic);
    OK(VipPostSend(vi, descriptor(&world, 4, 64), world.handle));
    usleep(100000);
    await("a");
    IS(VipSendNotify(vi, b, NULL), VIP_INVALID_PARAMETER);
    OK(VipSendNotify(vi, b, on_vi));
    await("ab");
    CHECK((char *)called_descriptor == world.memory + 4 * 1024);
    /* Off the queue. */
    IS(VipSendDone(vi, &d), VIP_DESCRIPTOR_ERROR);
    CHECK(d == NULL);
    OK(VipDestroyVi(vi));
    end(&world);
}

static VIP_CQ_HANDLE chained_cq;
static int chained;

static void chain(void *context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, VIP_BOOLEAN receive)
{
    (void)nic;
    (void)vi;
    (void)receive;
    __sync_fetch_and_add(&chained, 1);
    VipCQNotify(chained_cq, context, chain);
}

static void a_handler_asks_for_the_next_one(void)
{
    struct world world;
    VIP_VI_HANDLE vi;
    VIP_DESCRIPTOR *d;
    double start = seconds();
    int n;
    begin(&world, "nic0");
    OK(VipCreateCQ(world.nic, 1024, &chained_cq));
    vi = create_vi(&world, chained_cq, NULL);
    OK(VipCQNotify(chained_cq, &world, chain));
    for (n = 0; n < 500; n++) {
        d = (VIP_DESCRIPTOR *)(world.memory + 64 * n);
        memset(d, 0, sizeof *d);
        OK(VipPostSend(vi, d, world.handle));
    }
    while (__sync_fetch_and_add(&chained, 0) < 500 && seconds() - start < 20)
        usleep(1000);
    CHECK(chained == 500);
    for (n = 0; n < 500; n++)
        IS(VipSendDone(vi, &d), VIP_DESCRIPTOR_ERROR);
    OK(VipDestroyVi(vi));
    OK(VipDestroyCQ(chained_cq));
    end(&world);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static struct world shared;
static VIP_CQ_HANDLE shared_cq;

static void *wait_for_ever(void *number)
{
    VIP_VI_HANDLE vi;
    VIP_BOOLEAN receive;
    OK(VipCQWait(shared_cq, *(VIP_ULONG *)number, &vi, &receive));
    return vi;
}

static void a_wait_for_ever_is_woken_and_done_does_not_wait_behind_it(void)
{
    static VIP_ULONG infinities[2] = {VIP_INFINITE, ~0UL};
    pthread_t threads[2];
    VIP_NIC_HANDLE other;
    VIP_VI_HANDLE vi, from;
    VIP_BOOLEAN receive;
    VIP_DESCRIPTOR *d;
    void *woken;
    double start;
    int n;
    begin(&shared, "nic0");
    OK(VipOpenNic("nic0", &other));
    OK(VipCreateCQ(other, 16, &shared_cq));
    vi = create_vi(&shared, shared_cq, NULL);
    for (n = 0; n < 2; n++)
        CHECK(pthread_create(&threads[n], NULL, wait_for_ever, &infinities[n]) == 0);
    usleep(100000);
    start = seconds();
    IS(VipCQDone(shared_cq, &from, &receive), VIP_NOT_DONE);
    IS(VipSendDone(vi, &d), VIP_DESCRIPTOR_ERROR);
    CHECK(seconds() - start < 0.5);
    for (n = 0; n < 2; n++)
        OK(VipPostSend(vi, descriptor(&shared, n, 8), shared.handle));
    for (n = 0; n < 2; n++) {
        CHECK(pthread_join(threads[n], &woken) == 0 && woken == vi);
        IS(VipSendDone(vi, &d), VIP_DESCRIPTOR_ERROR);
        CHECK(d != NULL);
    }
    OK(VipDestroyVi(vi));
    OK(VipDestroyCQ(shared_cq));
    OK(VipCloseNic(other));
    end(&shared);
}

static const struct test tests[] = {
    TEST(an_entry_names_vi_and_queue),
    TEST(a_queue_that_vis_have_is_not_destroyed),
    TEST(a_resize_keeps_entries),
    TEST(a_work_queue_with_a_completion_queue_is_not_waited_for),
    TEST(a_handler_is_called_at_once_if_there_is_an_entry),
    TEST(handlers_are_called_once_each_in_their_order),
    TEST(destroying_a_queue_cancels_its_handlers),
    TEST(a_work_queue_calls_its_handler_once),
    TEST(a_handler_asks_for_the_next_one),
    TEST(a_wait_for_ever_is_woken_and_done_does_not_wait_behind_it),
};

MAIN(tests)
