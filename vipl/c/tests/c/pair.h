/* Two NICs in one program: a server on nic0, a client on nic1. */
#ifndef PAIR_H
#define PAIR_H

#include <pthread.h>

#include "check.h"

/* The server is on nic0, the client on nic1: each a world of its own. */
static struct world server, client;

struct address {
    VIP_NET_ADDRESS head;
    char more[40];
};

/* The address of an endpoint on a NIC. */
static VIP_NET_ADDRESS *address(struct address *address, VIP_NIC_HANDLE nic, const char *discriminator)
{
    VIP_NIC_ATTRIBUTES is;
    OK(VipQueryNic(nic, &is));
    memset(address, 0, sizeof *address);
    address->head.HostAddressLen = is.NicAddressLen;
    address->head.DiscriminatorLen = (VIP_UINT16)strlen(discriminator);
    memcpy((char *)address + 4, is.LocalNicAddress, is.NicAddressLen);
    memcpy((char *)address + 4 + is.NicAddressLen, discriminator, strlen(discriminator));
    return &address->head;
}

static VIP_VI_STATE state_of(VIP_VI_HANDLE vi)
{
    VIP_VI_STATE state;
    VIP_VI_ATTRIBUTES attributes;
    VIP_BOOLEAN send, receive;
    OK(VipQueryVi(vi, &state, &attributes, &send, &receive));
    return state;
}

/* What a server does in a thread: waits, and accepts, or rejects if there is no VI. */
static VIP_VI_HANDLE accept_with;
static VIP_RETURN accept_answer;
static VIP_VI_ATTRIBUTES accept_remote;
static struct address accept_from;

static void *serve(void *unused)
{
    struct address own;
    VIP_CONN_HANDLE connection = NULL;
    (void)unused;
    OK(VipConnectWait(server.nic, address(&own, server.nic, "a server"), VIP_INFINITE, &accept_from.head,
                      &accept_remote, &connection));
    if (accept_with == NULL) {
        accept_answer = VipConnectReject(connection);
        IS(VipConnectReject(connection), VIP_INVALID_PARAMETER);
    } else {
        accept_answer = VipConnectAccept(connection, accept_with);
        if (accept_answer != VIP_SUCCESS)
            OK(VipConnectReject(connection));
        else
            IS(VipConnectAccept(connection, accept_with), VIP_INVALID_PARAMETER);
    }
    return NULL;
}

/* Asks until somebody waits, as programs do. */
static VIP_RETURN ask(VIP_VI_HANDLE vi, VIP_VI_ATTRIBUTES *remote)
{
    struct address own, to;
    VIP_RETURN answer;
    address(&own, client.nic, "a client");
    address(&to, server.nic, "a server");
    do
        answer = VipConnectRequest(vi, &own.head, &to.head, VIP_INFINITE, remote);
    while (answer == VIP_NO_MATCH);
    return answer;
}

static VIP_VI_ATTRIBUTES met;

static VIP_RETURN meet(VIP_VI_HANDLE with, VIP_VI_HANDLE vi)
{
    VIP_RETURN answer;
    pthread_t thread;
    accept_with = with;
    CHECK(pthread_create(&thread, NULL, serve, NULL) == 0);
    answer = ask(vi, &met);
    CHECK(pthread_join(thread, NULL) == 0);
    if (answer == VIP_SUCCESS)
        OK(accept_answer);
    return answer;
}

static void begin_both(void)
{
    begin(&server, "nic0");
    begin(&client, "nic1");
}

static void end_both(void)
{
    end(&server);
    end(&client);
}

/* Two VIs that are connected: the server's and the client's. */
static VIP_VI_HANDLE there, here;

/* Of this level; the client may write the server's memory, and read it where there are reads. */
static void begin_connected_as(VIP_RELIABILITY_LEVEL level)
{
    VIP_VI_ATTRIBUTES attributes;
    begin_both();
    attributes = vi_attributes(&server);
    attributes.ReliabilityLevel = level;
    attributes.EnableRdmaWrite = VIP_TRUE;
    attributes.EnableRdmaRead = level != VIP_SERVICE_UNRELIABLE;
    OK(VipCreateVi(server.nic, &attributes, NULL, NULL, &there));
    attributes = vi_attributes(&client);
    attributes.ReliabilityLevel = level;
    OK(VipCreateVi(client.nic, &attributes, NULL, NULL, &here));
    OK(meet(there, here));
}

static void begin_connected(void)
{
    begin_connected_as(VIP_SERVICE_RELIABLE_DELIVERY);
}

static void end_connected(void)
{
    VIP_DESCRIPTOR *d;
    OK(VipDisconnect(here));
    OK(VipDisconnect(there));
    do
        VipRecvDone(there, &d);
    while (d);
    do
        VipRecvDone(here, &d);
    while (d);
    OK(VipDestroyVi(here));
    OK(VipDestroyVi(there));
    end_both();
}

/* A receive that counts as posted at both NICs. */
static void post_recv(VIP_DESCRIPTOR *d)
{
    OK(VipPostRecv(there, d, server.handle));
    state_of(there);
}

#endif
