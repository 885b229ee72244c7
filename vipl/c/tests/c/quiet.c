/* Two threads post and look. Each writes a line before it is to be quiet and one after it: what strace shows between them is what posts
 * and looks cost. Nothing is connected: sends of an idle VI are flushed by the NIC, which is a completion like any other.
 */
#include <pthread.h>

#include "check.h"

#define ROUNDS 100

static struct world world;
static VIP_CQ_HANDLE cq;

/* Looks at memory, which costs no call, until the descriptor is complete; and a while longer, for its entry. */
static void complete(const VIP_DESCRIPTOR *d)
{
    const volatile VIP_UINT32 *status = &d->CS.Status;
    double end;
    while (!(*status & VIP_STATUS_DONE))
        continue;
    end = seconds() + 0.002;
    while (seconds() < end)
        continue;
}

static void *with_a_work_queue(void *unused)
{
    VIP_VI_HANDLE vi = create_vi(&world, NULL, NULL);
    VIP_DESCRIPTOR *d;
    int n;
    (void)unused;
    for (n = 0; n < 2 * ROUNDS; n++) {
        if (n == ROUNDS)
            say("begin one\n");
        d = descriptor(&world, 0, 64);
        OK(VipPostSend(vi, d, world.handle));
        complete(d);
        IS(VipSendDone(vi, &d), VIP_DESCRIPTOR_ERROR);
        CHECK(d == (VIP_DESCRIPTOR *)world.memory);
    }
    say("end one\n");
    return NULL;
}

static void *with_a_completion_queue(void *unused)
{
    VIP_VI_HANDLE vi = create_vi(&world, cq, NULL), from;
    VIP_BOOLEAN receive;
    VIP_RETURN answer;
    VIP_DESCRIPTOR *d;
    int n;
    (void)unused;
    for (n = 0; n < 2 * ROUNDS; n++) {
        if (n == ROUNDS)
            say("begin two\n");
        d = descriptor(&world, 1, 64);
        OK(VipPostSend(vi, d, world.handle));
        complete(d);
        /* The entry is a write of its own, behind the descriptor's. */
        do
            answer = VipCQDone(cq, &from, &receive);
        while (answer == VIP_NOT_DONE);
        OK(answer);
        CHECK(from == vi && !receive);
        IS(VipSendDone(vi, &d), VIP_DESCRIPTOR_ERROR);
        CHECK(d == (VIP_DESCRIPTOR *)(world.memory + 1024));
    }
    say("end two\n");
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    test_name = "quiet";
    begin(&world, "nic0");
    OK(VipCreateCQ(world.nic, 64, &cq));
    CHECK(pthread_create(&threads[0], NULL, with_a_work_queue, NULL) == 0);
    CHECK(pthread_create(&threads[1], NULL, with_a_completion_queue, NULL) == 0);
    CHECK(pthread_join(threads[0], NULL) == 0);
    CHECK(pthread_join(threads[1], NULL) == 0);
    OK(VipCloseNic(world.nic));
    return 0;
}
