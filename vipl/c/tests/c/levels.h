/* A connection of each reliability level, and what comes of descriptors on it: the server's receives, the client's sends, and their asynchronous
 * errors.
 */
#ifndef LEVELS_H
#define LEVELS_H

#include "pair.h"

#define UD VIP_SERVICE_UNRELIABLE
#define RD VIP_SERVICE_RELIABLE_DELIVERY
#define RR VIP_SERVICE_RELIABLE_RECEPTION

/* ---- Asynchronous errors: how often each code came for the server's VI, and for the client's ---------------------- */

static int server_errors[16], client_errors[16];

static void on_error(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error)
{
    __sync_fetch_and_add(&((int *)context)[error->ErrorCode & 15], 1);
}

static void watch(void)
{
    memset(server_errors, 0, sizeof server_errors);
    memset(client_errors, 0, sizeof client_errors);
    OK(VipErrorCallback(server.nic, server_errors, on_error));
    OK(VipErrorCallback(client.nic, client_errors, on_error));
}

/* Waits until a code has come, so often in all. */
static void await_error(int *errors, VIP_ERROR_CODE code, int count)
{
    double start = seconds();
    while (__sync_fetch_and_add(&errors[code], 0) < count && seconds() - start < 10)
        usleep(1000);
    CHECK(errors[code] == count);
}

static void await_state(VIP_VI_HANDLE vi, VIP_VI_STATE state)
{
    double start = seconds();
    while (state_of(vi) != state && seconds() - start < 10)
        usleep(1000);
    CHECK(state_of(vi) == state);
}

/* ---- Descriptors -------------------------------------------------------------------------------------------------- */

/* Posts a send of the client's, and waits for it: its status. */
static VIP_UINT32 sent(VIP_DESCRIPTOR *d)
{
    VIP_DESCRIPTOR *done = NULL;
    VIP_RETURN answer;
    OK(VipPostSend(here, d, client.handle));
    answer = VipSendWait(here, 10000, &done);
    CHECK(done == d);
    CHECK(answer == (d->CS.Status & VIP_STATUS_ERROR_MASK ? VIP_DESCRIPTOR_ERROR : VIP_SUCCESS));
    CHECK(d->CS.Status & VIP_STATUS_DONE);
    return d->CS.Status;
}

/* The status of the server's next receive. */
static VIP_UINT32 received(VIP_DESCRIPTOR *d)
{
    VIP_DESCRIPTOR *done = NULL;
    VipRecvWait(there, 10000, &done);
    CHECK(done == d);
    return d->CS.Status;
}

#define SENT (VIP_STATUS_DONE | VIP_STATUS_OP_SEND)
#define RECEIVED (VIP_STATUS_DONE | VIP_STATUS_OP_RECEIVE)

static void a_message_arrives(void)
{
    VIP_DESCRIPTOR *d = descriptor(&server, 40, 100), *s = descriptor(&client, 40, 100);
    memset((char *)s + 64, 'm', 100);
    post_recv(d);
    CHECK(sent(s) == SENT);
    CHECK(received(d) == RECEIVED && d->CS.Length == 100 && ((char *)d)[64 + 99] == 'm');
}

#endif
