/* What a program can do with a NIC, a call each that ends only with an error. */
#ifndef ORPHANS_H
#define ORPHANS_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <vipl.h>

#define MUST(call) must((call), #call, __LINE__)

static void must(VIP_RETURN answer, const char *what, int line)
{
    if (answer != VIP_SUCCESS) {
        fprintf(stderr, "line %d: %s answers %d\n", line, what, (int)answer);
        _exit(1);
    }
}

static void is(VIP_RETURN answer, VIP_RETURN expected, int line)
{
    if (answer != expected) {
        fprintf(stderr, "line %d: answers %d, not %d\n", line, (int)answer, (int)expected);
        _exit(1);
    }
}

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static VIP_NIC_HANDLE nic;
static VIP_PROTECTION_HANDLE tag;
static VIP_MEM_HANDLE memory_handle;
static VIP_CQ_HANDLE polled_cq, waited_cq, notified_cq;
static char *memory;
static VIP_UINT8 own[6];
static int places;

/* What a thread does until it has an error. */
struct call {
    const char *name;
    VIP_RETURN (*make)(struct call *);
    VIP_VI_HANDLE vi;
    pthread_t thread;
    volatile int ended;
    VIP_RETURN answer;
    int64_t when;
};

static VIP_VI_HANDLE create_vi(VIP_CQ_HANDLE receives)
{
    VIP_VI_ATTRIBUTES attributes;
    VIP_VI_HANDLE vi;
    memset(&attributes, 0, sizeof attributes);
    attributes.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY;
    attributes.MaxTransferSize = 32768;
    attributes.Ptag = tag;
    MUST(VipCreateVi(nic, &attributes, NULL, receives, &vi));
    return vi;
}

static VIP_DESCRIPTOR *describe(void)
{
    VIP_DESCRIPTOR *d = (VIP_DESCRIPTOR *)(memory + 256 * places++);
    memset(d, 0, sizeof *d);
    d->CS.SegCount = 1;
    d->CS.Length = 64;
    d->DS[0].Local.Data.Address = (char *)d + 64;
    d->DS[0].Local.Handle = memory_handle;
    d->DS[0].Local.Length = 64;
    return d;
}

/* A VI with a receive that nothing ever comes for. */
static VIP_VI_HANDLE waiting_vi(VIP_CQ_HANDLE cq)
{
    VIP_VI_HANDLE vi = create_vi(cq);
    MUST(VipPostRecv(vi, describe(), memory_handle));
    return vi;
}

struct address {
    VIP_NET_ADDRESS head;
    char more[40];
};

static VIP_NET_ADDRESS *at(struct address *address, const char *name)
{
    memset(address, 0, sizeof *address);
    address->head.HostAddressLen = 6;
    address->head.DiscriminatorLen = (VIP_UINT16)strlen(name);
    memcpy((char *)address + 4, own, 6);
    memcpy((char *)address + 10, name, strlen(name));
    return &address->head;
}

/* ---- The calls --------------------------------------------------------------------------------------------------- */

static VIP_RETURN recv_done(struct call *call)
{
    VIP_DESCRIPTOR *d;
    VIP_RETURN answer;
    do
        answer = VipRecvDone(call->vi, &d);
    while (answer == VIP_NOT_DONE);
    return answer;
}

/* A program that looks now and then. */
static VIP_RETURN recv_done_rarely(struct call *call)
{
    VIP_DESCRIPTOR *d;
    VIP_RETURN answer;
    while ((answer = VipRecvDone(call->vi, &d)) == VIP_NOT_DONE)
        usleep(20000);
    return answer;
}

static VIP_RETURN cq_done(struct call *call)
{
    VIP_VI_HANDLE vi;
    VIP_BOOLEAN receive;
    VIP_RETURN answer;
    (void)call;
    do
        answer = VipCQDone(polled_cq, &vi, &receive);
    while (answer == VIP_NOT_DONE);
    return answer;
}

static VIP_RETURN recv_wait(struct call *call)
{
    VIP_DESCRIPTOR *d;
    return VipRecvWait(call->vi, VIP_INFINITE, &d);
}

static VIP_RETURN recv_wait_with_time(struct call *call)
{
    VIP_DESCRIPTOR *d;
    return VipRecvWait(call->vi, 600000, &d);
}

static VIP_RETURN cq_wait(struct call *call)
{
    VIP_VI_HANDLE vi;
    VIP_BOOLEAN receive;
    (void)call;
    return VipCQWait(waited_cq, VIP_INFINITE, &vi, &receive);
}

/* Sends to an idle VI are flushed: each is there at once. */
static VIP_RETURN post(struct call *call)
{
    VIP_DESCRIPTOR *d = describe(), *done;
    for (;;) {
        VIP_RETURN answer;
        d->CS.Status = 0;
        answer = VipPostSend(call->vi, d, memory_handle);
        if (answer != VIP_SUCCESS)
            return answer;
        answer = VipSendWait(call->vi, VIP_INFINITE, &done);
        if (answer != VIP_DESCRIPTOR_ERROR || done == NULL)
            return answer;
    }
}

static VIP_RETURN connect_wait(struct call *call)
{
    struct address here, from;
    VIP_VI_ATTRIBUTES remote;
    VIP_CONN_HANDLE connection;
    (void)call;
    return VipConnectWait(nic, at(&here, "nobody comes"), VIP_INFINITE, &from.head, &remote, &connection);
}

/* Whoever is asked makes up his mind for ever. */
static VIP_RETURN connect_request(struct call *call)
{
    struct address here, to;
    VIP_VI_ATTRIBUTES remote;
    VIP_RETURN answer;
    at(&here, "a client");
    at(&to, "slow");
    while ((answer = VipConnectRequest(call->vi, &here.head, &to.head, VIP_INFINITE, &remote)) == VIP_NO_MATCH)
        usleep(1000);
    return answer;
}

static VIP_RETURN peer_wait(struct call *call)
{
    VIP_VI_ATTRIBUTES remote;
    return VipConnectPeerWait(call->vi, &remote);
}

static VIP_RETURN peer_done(struct call *call)
{
    VIP_VI_ATTRIBUTES remote;
    VIP_RETURN answer;
    while ((answer = VipConnectPeerDone(call->vi, &remote)) == VIP_NOT_DONE)
        usleep(1000);
    return answer;
}

static VIP_RETURN create_and_destroy(struct call *call)
{
    VIP_RETURN answer;
    (void)call;
    do {
        VIP_PROTECTION_HANDLE one;
        answer = VipCreatePtag(nic, &one);
        if (answer == VIP_SUCCESS)
            answer = VipDestroyPtag(nic, one);
    } while (answer == VIP_SUCCESS);
    return answer;
}

/* The handler of asynchronous errors is a caller, too. */
static volatile int64_t catastrophe;

static VIP_RETURN error_callback(struct call *call)
{
    while (catastrophe == 0)
        usleep(500);
    call->when = catastrophe;
    return VIP_ERROR_RESOURCE;
}

static void on_error(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error)
{
    (void)context;
    if (error->ErrorCode == VIP_ERROR_CATASTROPHIC)
        catastrophe = now();
}

static void never(VIP_PVOID context, VIP_NIC_HANDLE on, VIP_VI_HANDLE vi, VIP_BOOLEAN receive)
{
    (void)context, (void)on, (void)vi, (void)receive;
    fprintf(stderr, "a handler was called for nothing\n");
    _exit(1);
}

static void *run(void *argument)
{
    struct call *call = (struct call *)argument;
    call->answer = call->make(call);
    if (call->when == 0)
        call->when = now();
    __sync_synchronize();
    call->ended = 1;
    return NULL;
}

static void peer_request(VIP_VI_HANDLE vi, const char *name)
{
    struct address here, to;
    at(&here, name);
    at(&to, "no peer");
    MUST(VipConnectPeerRequest(vi, &here.head, &to.head, VIP_INFINITE));
}

#endif
