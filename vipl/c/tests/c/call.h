/* Calls that are under way in threads of their own. */
#ifndef CALL_H
#define CALL_H

#include "pair.h"

/* What a thread does, and what came of it. */
struct call {
    VIP_RETURN (*make)(struct call *call);
    VIP_VI_HANDLE vi;
    VIP_CQ_HANDLE cq;
    VIP_CONN_HANDLE connection;
    const char *to;
    pthread_t thread;
    volatile int has_ended;
    VIP_RETURN answer;
};

static void *run(void *argument)
{
    struct call *call = (struct call *)argument;
    call->answer = call->make(call);
    __sync_synchronize();
    call->has_ended = 1;
    return NULL;
}

/* Begins a call in a thread, and lets it get to where it waits. */
static void start(struct call *call, VIP_RETURN (*make)(struct call *))
{
    call->make = make;
    call->has_ended = 0;
    CHECK(pthread_create(&call->thread, NULL, run, call) == 0);
    usleep(200000);
    CHECK(!call->has_ended);
}

/* It ends by itself in this time. */
static VIP_RETURN ended_in(double limit, struct call *call)
{
    double begun = seconds();
    while (!call->has_ended && seconds() - begun < limit)
        usleep(1000);
    CHECK(call->has_ended);
    CHECK(pthread_join(call->thread, NULL) == 0);
    return call->answer;
}

/* At once. */
static VIP_RETURN ended(struct call *call)
{
    return ended_in(1, call);
}

static VIP_RETURN request(struct call *call)
{
    struct address own, to;
    VIP_VI_ATTRIBUTES remote;
    address(&own, client.nic, "a client");
    address(&to, server.nic, call->to);
    return VipConnectRequest(call->vi, &own.head, &to.head, VIP_INFINITE, &remote);
}

static VIP_RETURN wait_for_somebody(struct call *call)
{
    struct address own, from;
    VIP_VI_ATTRIBUTES remote;
    return VipConnectWait(server.nic, address(&own, server.nic, call->to), VIP_INFINITE, &from.head, &remote,
                          &call->connection);
}

static VIP_RETURN accept_it(struct call *call)
{
    return VipConnectAccept(call->connection, call->vi);
}

static VIP_RETURN peer_wait(struct call *call)
{
    VIP_VI_ATTRIBUTES remote;
    return VipConnectPeerWait(call->vi, &remote);
}

static VIP_RETURN recv_wait(struct call *call)
{
    VIP_DESCRIPTOR *d;
    return VipRecvWait(call->vi, VIP_INFINITE, &d);
}

static VIP_RETURN cq_wait(struct call *call)
{
    VIP_VI_HANDLE vi;
    VIP_BOOLEAN receive;
    return VipCQWait(call->cq, VIP_INFINITE, &vi, &receive);
}

static void peer_request(VIP_VI_HANDLE vi)
{
    struct address own, to;
    address(&own, server.nic, "one");
    address(&to, client.nic, "two");
    OK(VipConnectPeerRequest(vi, &own.head, &to.head, VIP_INFINITE));
}

/* A client asks, and whoever has heard it makes up his mind. */
static void begin_undecided(struct call *waits, struct call *asks)
{
    begin_both();
    waits->to = asks->to = "slow";
    start(waits, wait_for_somebody);
    asks->vi = create_vi(&client, NULL, NULL);
    start(asks, request);
    /* However slow the NICs are. */
    OK(ended_in(20, waits));
}

#endif
