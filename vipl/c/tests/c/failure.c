/* Both NICs fail while everything that can wait for them does: who has started this makes them fail when it says "under way" (failure.rs, and
 * tests/guest/src/program.rs behind a real kernel). Each NIC's handler is told of a catastrophic error, once, and every call ends with an error: those
 * that are under way, and those that begin then. It ends with its input, so that one can look before at what it has kept.
 */
#include "call.h"

/* What never ends in this time hangs. */
#define LIMIT 20

static struct world *const worlds[2] = {&server, &client};
static volatile int told[2];

static void on_error(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error)
{
    int which = context == (VIP_PVOID)&client;
    CHECK(error->ErrorCode == VIP_ERROR_CATASTROPHIC && error->ResourceCode == VIP_RESOURCE_NIC);
    CHECK(error->NicHandle == worlds[which]->nic && error->ViHandle == NULL && error->CQHandle == NULL);
    __sync_fetch_and_add(&told[which], 1);
}

/* Who only looks. */
static VIP_RETURN recv_done(struct call *call)
{
    VIP_DESCRIPTOR *d;
    VIP_RETURN answer;
    do
        answer = VipRecvDone(call->vi, &d);
    while (answer == VIP_NOT_DONE);
    return answer;
}

static VIP_RETURN cq_done(struct call *call)
{
    VIP_VI_HANDLE vi;
    VIP_BOOLEAN receive;
    VIP_RETURN answer;
    do
        answer = VipCQDone(call->cq, &vi, &receive);
    while (answer == VIP_NOT_DONE);
    return answer;
}

/* A send of an idle VI is flushed, by a NIC that does anything. */
static VIP_RETURN send_and_wait(struct call *call)
{
    VIP_DESCRIPTOR *d = descriptor(&server, 20, 100);
    VIP_RETURN answer = VipPostSend(call->vi, d, server.handle);
    return answer == VIP_SUCCESS ? VipSendWait(call->vi, VIP_INFINITE, &d) : answer;
}

static VIP_RETURN create_and_destroy(struct call *call)
{
    VIP_VI_ATTRIBUTES attributes = vi_attributes(&server);
    return VipCreateVi(server.nic, &attributes, NULL, NULL, &call->vi);
}

/* Whether a call under way may end so. A viad ends what it can before its programs hear that the NIC is gone: so a receive may come back flushed, and who
 * asks for a connection may hear that it will not come.
 */
static int may_end(const struct call *call, int of_viads)
{
    switch (call->answer) {
    case VIP_ERROR_RESOURCE:
    case VIP_NOT_REACHABLE:
        return 1;
    case VIP_DESCRIPTOR_ERROR:
        return of_viads && (call->make == recv_wait || call->make == recv_done);
    case VIP_REJECT:
        return of_viads && call->make == request;
    default:
        return 0;
    }
}

int main(int words, char **arguments)
{
    static struct call calls[8], later[3];
    double begun;
    char more;
    int n, count = 0;
    /* What is known of the NICs: they "answer" to the end; or they are "viads" that end by themselves. */
    int answer = words == 2 && strcmp(arguments[1], "answer") == 0;
    int of_viads = words == 2 && strcmp(arguments[1], "viads") == 0;
    test_name = "a NIC that fails";
    /* The first two: a client asks, and whoever has heard it makes up his mind. */
    begin_undecided(&calls[7], &calls[0]);
    count = 1;
    for (n = 0; n < 2; n++)
        OK(VipErrorCallback(worlds[n]->nic, worlds[n], on_error));
    calls[count].vi = create_vi(&server, NULL, NULL);
    OK(VipPostRecv(calls[count].vi, descriptor(&server, 0, 64), server.handle));
    start(&calls[count++], recv_wait);
    calls[count].vi = create_vi(&server, NULL, NULL);
    OK(VipPostRecv(calls[count].vi, descriptor(&server, 1, 64), server.handle));
    start(&calls[count++], recv_done);
    OK(VipCreateCQ(server.nic, 64, &calls[count].cq));
    start(&calls[count++], cq_wait);
    OK(VipCreateCQ(server.nic, 64, &calls[count].cq));
    start(&calls[count++], cq_done);
    calls[count].vi = create_vi(&server, NULL, NULL);
    peer_request(calls[count].vi);
    start(&calls[count++], peer_wait);
    calls[count].to = "nobody comes";
    start(&calls[count++], wait_for_somebody);
    for (n = 0; n < 3; n++)
        later[n].vi = create_vi(n == 1 ? &client : &server, NULL, NULL);
    later[1].to = "late";
    say("under way\n");
    for (n = 0; n < count; n++) {
        int right;
        ended_in(LIMIT, &calls[n]);
        right = may_end(&calls[n], of_viads);
        if (!right)
            printf("call %d has ended with %d\n", n, (int)calls[n].answer);
        CHECK(right);
    }
    begun = seconds();
    while (!(told[0] && told[1]) && seconds() - begun < LIMIT)
        usleep(1000);
    CHECK(told[0] == 1 && told[1] == 1);
    /* Calls that begin now. */
    later[0].make = send_and_wait;
    later[1].make = request;
    later[2].make = create_and_destroy;
    for (n = 0; n < 3; n++) {
        CHECK(pthread_create(&later[n].thread, NULL, run, &later[n]) == 0);
        CHECK(ended_in(LIMIT, &later[n]) != VIP_SUCCESS);
    }
    /* Whether a NIC that has died still reaches the memory nobody knows; the program is rid of it all the same. One that answers gives all back. */
    for (n = 0; n < 2; n++)
        IS(VipCloseNic(worlds[n]->nic), answer ? VIP_SUCCESS : VIP_ERROR_RESOURCE);
    CHECK(told[0] == 1 && told[1] == 1);
    say("all has ended\n");
    while (read(0, &more, 1) > 0)
        ;
    return 0;
}
