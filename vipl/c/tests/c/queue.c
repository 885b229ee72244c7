/* Listeners that stay, and connections that nobody waits for. Beside VIPL. */
#include "conn_queue.h"

static struct address own;
static VIP_VI_ATTRIBUTES remote;

static void *ask_three_times(void *vi)
{
    int n;
    for (n = 0; n < 3; n++) {
        VIP_VI_ATTRIBUTES theirs;
        OK(ask((VIP_VI_HANDLE)vi, &theirs));
        OK(VipDisconnect((VIP_VI_HANDLE)vi));
    }
    return NULL;
}

static void a_listener_hears_one_client_after_the_other(void)
{
    VIP_EXT_LISTENER_HANDLE listener;
    VIP_CONN_HANDLE connection;
    pthread_t thread;
    int fd, n;
    begin_both();
    there = create_vi(&server, NULL, NULL);
    here = create_vi(&client, NULL, NULL);
    address(&own, server.nic, "a server");
    IS(VipExtListen(server.nic, &own.head, 0, &listener), VIP_INVALID_PARAMETER);
    IS(VipExtListen(server.nic, &own.head, 4, NULL), VIP_INVALID_PARAMETER);
    OK(VipExtListen(server.nic, &own.head, 4, &listener));
    IS(VipExtListenerWait(listener, 10, &from.head, &remote, &connection), VIP_TIMEOUT);
    OK(VipExtListenerFd(listener, &fd));
    CHECK(pthread_create(&thread, NULL, ask_three_times, here) == 0);
    for (n = 0; n < 3; n++) {
        VIP_RETURN answer = VIP_TIMEOUT;
        while (answer == VIP_TIMEOUT) {
            OK(VipExtListenerArm(listener));
            answer = VipExtListenerWait(listener, 0, &from.head, &remote, &connection);
            if (answer == VIP_TIMEOUT)
                CHECK(is_readable(fd));
        }
        OK(answer);
        CHECK(from.head.HostAddressLen == 6 && from.head.DiscriminatorLen == 8);
        CHECK(remote.MaxTransferSize == 32768);
        /* It is accepted as any other, and no connection queue's. */
        IS(VipExtConnQueueAccept(connection, there, NULL, 0, NULL), VIP_INVALID_STATE);
        OK(VipConnectAccept(connection, there));
        while (state_of(there) != VIP_STATE_ERROR)
            usleep(1000);
        OK(VipDisconnect(there));
    }
    CHECK(pthread_join(thread, NULL) == 0);
    OK(VipExtUnlisten(listener));
    IS(VipExtUnlisten(listener), VIP_INVALID_PARAMETER);
    IS(VipExtListenerArm(listener), VIP_INVALID_PARAMETER);
    address(&from, client.nic, "a client");
    IS(VipConnectRequest(here, &from.head, &own.head, 20000, &remote), VIP_NO_MATCH);
    OK(VipDestroyVi(there));
    OK(VipDestroyVi(here));
    end_both();
}

/* A queue of each NIC; the server's hears who asks for "a server". */
static VIP_EXT_CONN_QUEUE_HANDLE theirs, ours;
static VIP_EXT_LISTENER_HANDLE listener;
static int words[4];

static void begin_queues(void)
{
    begin_both();
    there = create_vi(&server, NULL, NULL);
    here = create_vi(&client, NULL, NULL);
    OK(VipExtCreateConnQueue(server.nic, &theirs));
    OK(VipExtCreateConnQueue(client.nic, &ours));
    OK(VipExtConnQueueListen(theirs, address(&own, server.nic, "a server"), 8, &words[0], &listener));
}

static void end_queues(void)
{
    OK(VipExtDestroyConnQueue(theirs));
    OK(VipExtDestroyConnQueue(ours));
    IS(VipExtUnlisten(listener), VIP_INVALID_PARAMETER);
    OK(VipDestroyVi(there));
    OK(VipDestroyVi(here));
    end_both();
}

static VIP_RETURN begin_request_as(const char *discriminator, VIP_ULONG time, int *word)
{
    struct address mine, to;
    address(&mine, client.nic, "a client");
    address(&to, server.nic, discriminator);
    return VipExtConnQueueRequest(ours, here, &mine.head, &to.head, time, "hello", 5, word);
}

static VIP_RETURN begin_request(const char *discriminator, VIP_ULONG time)
{
    return begin_request_as(discriminator, time, &words[1]);
}

static void a_connection_queue_tells_what_comes_of_requests(void)
{
    VIP_EXT_CONN_EVENT event;
    VIP_CONN_HANDLE connection;
    VIP_DESCRIPTOR *d;
    VIP_ULONG length;
    char data[VIP_MAX_ACCEPT_DATA];
    int round;
    begin_queues();
    IS(VipExtConnQueueDone(ours, &event, &from.head), VIP_NOT_DONE);
    IS(VipExtListenerWait(listener, 0, &from.head, &remote, &connection), VIP_INVALID_STATE);
    for (round = 0; round < 2; round++) {
        OK(begin_request("a server", 20000));
        CHECK(state_of(here) == VIP_STATE_CONNECT_PENDING);
        IS(begin_request("a server", 20000), VIP_INVALID_STATE);
        IS(VipDestroyVi(here), VIP_ERROR_RESOURCE);
        event = next_of(theirs);
        CHECK(event.Kind == VIP_EXT_CONN_REQUESTED && event.Context == &words[0] && event.ViHandle == NULL);
        CHECK(memcmp(from.head.HostAddress, "\2\0\0\0\0\2a client", 14) == 0);
        CHECK(event.RemoteViAttribs.MaxTransferSize == 32768);
        length = sizeof data;
        OK(VipGetRequestData(event.ConnHandle, data, &length));
        CHECK(length == 5 && memcmp(data, "hello", 5) == 0);
        OK(VipPostRecv(there, descriptor(&server, 0, 100), server.handle));
        OK(VipExtConnQueueAccept(event.ConnHandle, there, "welcome", 7, &words[2]));
        IS(VipConnectReject(event.ConnHandle), VIP_INVALID_PARAMETER);
        event = next_of(ours);
        CHECK(event.Kind == VIP_EXT_CONN_CONNECTED && event.Context == &words[1] && event.ViHandle == here);
        CHECK(event.RemoteViAttribs.ReliabilityLevel == VIP_SERVICE_RELIABLE_DELIVERY);
        length = sizeof data;
        OK(VipGetPeerData(here, data, &length));
        CHECK(length == 7 && memcmp(data, "welcome", 7) == 0);
        event = next_of(theirs);
        CHECK(event.Kind == VIP_EXT_CONN_CONNECTED && event.Context == &words[2] && event.ViHandle == there);
        length = sizeof data;
        OK(VipGetPeerData(there, data, &length));
        CHECK(length == 5);
        CHECK(state_of(here) == VIP_STATE_CONNECTED && state_of(there) == VIP_STATE_CONNECTED);
        OK(VipPostSend(here, descriptor(&client, 0, 50), client.handle));
        OK(VipSendWait(here, 20000, &d));
        OK(VipRecvWait(there, 20000, &d));
        OK(VipExtConnQueueDisconnect(ours, here));
        event = next_of(ours);
        CHECK(event.Kind == VIP_EXT_CONN_PARTED && event.Context == &words[1] && event.ViHandle == here);
        event = next_of(theirs);
        CHECK(event.Kind == VIP_EXT_CONN_DISCONNECTED && event.Context == &words[2] && event.ViHandle == there);
        CHECK(state_of(there) == VIP_STATE_ERROR);
        OK(VipExtConnQueueDisconnect(theirs, there));
        CHECK(state_of(here) == VIP_STATE_IDLE && state_of(there) == VIP_STATE_IDLE);
    }
    /* Both ways to accept are open. */
    OK(begin_request("a server", 20000));
    event = next_of(theirs);
    OK(VipConnectAccept(event.ConnHandle, there));
    event = next_of(ours);
    CHECK(event.Kind == VIP_EXT_CONN_CONNECTED && event.ViHandle == here);
    OK(VipDisconnect(here));
    OK(VipDisconnect(there));
    end_queues();
}

static void a_connection_queue_tells_why_requests_came_to_nothing(void)
{
    VIP_EXT_CONN_EVENT event;
    VIP_VI_ATTRIBUTES attributes;
    VIP_VI_HANDLE other, same;
    begin_queues();
    OK(begin_request("nobody", 20000));
    event = next_of(ours);
    CHECK(event.Kind == VIP_EXT_CONN_FAILED && event.Status == VIP_NO_MATCH && event.ViHandle == here);
    CHECK(state_of(here) == VIP_STATE_IDLE);
    OK(begin_request("a server", 20000));
    event = next_of(theirs);
    /* Attributes that differ: the other side hears nothing. */
    attributes = vi_attributes(&server);
    attributes.MaxTransferSize = 1000;
    OK(VipSetViAttributes(there, &attributes));
    IS(VipExtConnQueueAccept(event.ConnHandle, there, NULL, 0, NULL), VIP_INVALID_MTU);
    /* One of another NIC, which has a VI with that number, too. */
    same = create_vi(&server, NULL, NULL);
    other = create_vi(&client, NULL, NULL);
    IS(VipExtConnQueueAccept(event.ConnHandle, other, NULL, 0, NULL), VIP_INVALID_PARAMETER);
    IS(VipConnectAccept(event.ConnHandle, other), VIP_INVALID_PARAMETER);
    OK(VipDestroyVi(other));
    OK(VipDestroyVi(same));
    OK(VipConnectReject(event.ConnHandle));
    event = next_of(ours);
    CHECK(event.Kind == VIP_EXT_CONN_FAILED && event.Status == VIP_REJECT && event.Context == &words[1]);
    OK(begin_request("a server", 300));
    event = next_of(ours);
    CHECK(event.Kind == VIP_EXT_CONN_FAILED && event.Status == VIP_TIMEOUT);
    /* Ended here. */
    OK(begin_request("a server", 20000));
    OK(VipDisconnect(here));
    CHECK(state_of(here) == VIP_STATE_IDLE);
    event = next_of(ours);
    CHECK(event.Kind == VIP_EXT_CONN_FAILED && event.Status == VIP_INVALID_STATE);
    /* With its queue an attempt is given up. */
    OK(begin_request("a server", 20000));
    end_queues();
}

static void an_event_of_an_attempt_that_was_ended_is_not_that_of_the_next_one(void)
{
    VIP_EXT_CONN_EVENT event;
    VIP_CONN_HANDLE first;
    VIP_ULONG length;
    char data[VIP_MAX_ACCEPT_DATA];
    begin_queues();
    OK(begin_request("a server", 20000));
    first = next_of(theirs).ConnHandle;
    OK(VipDisconnect(here));
    OK(begin_request_as("a server", 20000, &words[3]));
    event = next_of(ours);
    CHECK(event.Kind == VIP_EXT_CONN_FAILED && event.Status == VIP_INVALID_STATE);
    CHECK(event.Context == &words[1] && event.ViHandle == here);
    /* The second one is still on its way. */
    CHECK(state_of(here) == VIP_STATE_CONNECT_PENDING);
    IS(VipDestroyVi(here), VIP_ERROR_RESOURCE);
    VipConnectReject(first);
    event = next_of(theirs);
    CHECK(event.Kind == VIP_EXT_CONN_REQUESTED);
    /* And so where somebody accepts. Its private data are those of the request that it accepts. */
    OK(VipExtConnQueueAccept(event.ConnHandle, there, "welcome", 7, &words[2]));
    OK(VipDisconnect(there));
    event = next_of(ours);
    CHECK(event.Context == &words[3]);
    OK(VipDisconnect(here));
    OK(begin_request("a server", 20000));
    /* Of the one that was ended, and of the other. */
    do
        event = next_of(theirs);
    while (event.Kind != VIP_EXT_CONN_REQUESTED);
    OK(VipExtConnQueueAccept(event.ConnHandle, there, "welcome", 7, &words[3]));
    do
        event = next_of(theirs);
    while (event.Context == &words[2]);
    CHECK(event.Kind == VIP_EXT_CONN_CONNECTED && event.Context == &words[3] && event.ViHandle == there);
    length = sizeof data;
    OK(VipGetPeerData(there, data, &length));
    CHECK(length == 5 && memcmp(data, "hello", 5) == 0);
    do
        event = next_of(ours);
    while (event.Context == &words[3]);
    CHECK(event.Kind == VIP_EXT_CONN_CONNECTED && event.Context == &words[1]);
    /* The end of a connection has its own word, too. */
    OK(VipExtConnQueueDisconnect(ours, here));
    OK(begin_request_as("a server", 20000, &words[3]));
    event = next_of(ours);
    CHECK(event.Kind == VIP_EXT_CONN_PARTED && event.Context == &words[1]);
    OK(VipDisconnect(there));
    end_queues();
}

static void a_connection_that_ends_before_it_is_told_is_flushed_as_any_other(void)
{
    VIP_EXT_CONN_EVENT event;
    VIP_DESCRIPTOR *d;
    begin_queues();
    OK(VipPostRecv(here, descriptor(&client, 0, 100), client.handle));
    OK(begin_request("a server", 20000));
    event = next_of(theirs);
    OK(VipExtConnQueueAccept(event.ConnHandle, there, NULL, 0, &words[2]));
    event = next_of(theirs);
    CHECK(event.Kind == VIP_EXT_CONN_CONNECTED);
    OK(VipExtConnQueueDisconnect(theirs, there));
    while (state_of(here) != VIP_STATE_ERROR)
        usleep(1000);
    event = next_of(ours);
    CHECK(event.Kind == VIP_EXT_CONN_CONNECTED);
    event = next_of(ours);
    CHECK(event.Kind == VIP_EXT_CONN_DISCONNECTED && event.Context == &words[1]);
    OK(VipDisconnect(here));
    IS(VipRecvDone(here, &d), VIP_DESCRIPTOR_ERROR);
    CHECK((d->CS.Status & VIP_STATUS_DESC_FLUSHED_ERROR) != 0);
    end_queues();
}

static void a_host_is_asked_by_its_ipv4_address(void)
{
    struct address mine, to;
    VIP_EXT_CONN_EVENT event;
    begin_queues();
    address(&mine, client.nic, "a client");
    memset(&to, 0, sizeof to);
    to.head.HostAddressLen = 4;
    to.head.DiscriminatorLen = 8;
    memcpy((char *)&to + 4, "\12\0\0\1a server", 12);
    OK(VipExtConnQueueRequest(ours, here, &mine.head, &to.head, 20000, NULL, 0, &words[1]));
    event = next_of(theirs);
    OK(VipExtConnQueueAccept(event.ConnHandle, there, NULL, 0, NULL));
    event = next_of(ours);
    CHECK(event.Kind == VIP_EXT_CONN_CONNECTED);
    event = next_of(theirs);
    CHECK(event.Kind == VIP_EXT_CONN_CONNECTED);
    OK(VipDisconnect(here));
    OK(VipDisconnect(there));
    /* VIPL's own functions take it, too. Nobody has this one. */
    ((char *)&to)[7] = 77;
    IS(VipConnectRequest(here, &mine.head, &to.head, 300, &remote), VIP_TIMEOUT);
    /* The same as an IPv6 address, and one that is no IPv4 address. */
    to.head.HostAddressLen = 16;
    memcpy((char *)&to + 4, "\0\0\0\0\0\0\0\0\0\0\377\377\12\0\0\115a server", 24);
    IS(VipConnectRequest(here, &mine.head, &to.head, 300, &remote), VIP_TIMEOUT);
    ((char *)&to)[4] = (char)0xfe;
    IS(VipConnectRequest(here, &mine.head, &to.head, 300, &remote), VIP_ERROR_NOT_SUPPORTED);
    memcpy((char *)&to + 4, "\12\0\0\115a server", 12);
    /* Nothing is read behind a length that cannot be. */
    to.head.HostAddressLen = 60000;
    IS(VipConnectRequest(here, &mine.head, &to.head, 300, &remote), VIP_INVALID_PARAMETER);
    to.head.HostAddressLen = 5;
    IS(VipConnectRequest(here, &mine.head, &to.head, 300, &remote), VIP_INVALID_PARAMETER);
    /* One's own, as well. */
    mine = to;
    mine.head.HostAddressLen = 4;
    IS(VipExtConnQueueListen(ours, &mine.head, 1, NULL, &listener), VIP_INVALID_PARAMETER);
    ((char *)&mine)[7] = 2;
    OK(VipExtConnQueueListen(ours, &mine.head, 1, NULL, &listener));
    OK(VipExtUnlisten(listener));
    end_queues();
}

static void sends_are_drained_before_a_disconnect(void)
{
    VIP_DESCRIPTOR *d;
    int n;
    begin_both();
    there = create_vi(&server, NULL, NULL);
    here = create_vi(&client, NULL, NULL);
    OK(VipExtSetNotReady(there, VIP_TRUE, 12, VIP_EXT_WITHOUT_END));
    OK(meet(there, here));
    for (n = 0; n < 8; n++)
        OK(VipPostSend(here, descriptor(&client, n, 100), client.handle));
    /* Nothing is there to receive them. */
    IS(VipExtDrain(here, 100), VIP_TIMEOUT);
    for (n = 0; n < 8; n++)
        post_recv(descriptor(&server, n, 100));
    OK(VipExtDrain(here, 20000));
    OK(VipDisconnect(here));
    for (n = 0; n < 8; n++) {
        OK(VipSendDone(here, &d));
        OK(VipRecvWait(there, 5000, &d));
    }
    /* Nothing is posted: it is drained. */
    OK(VipExtDrain(here, 0));
    IS(VipExtDrain(NULL, 0), VIP_INVALID_PARAMETER);
    end_connected();
}

static const struct test tests[] = {
    TEST(a_listener_hears_one_client_after_the_other),
    TEST(a_connection_queue_tells_what_comes_of_requests),
    TEST(a_connection_queue_tells_why_requests_came_to_nothing),
    TEST(an_event_of_an_attempt_that_was_ended_is_not_that_of_the_next_one),
    TEST(a_connection_that_ends_before_it_is_told_is_flushed_as_any_other),
    TEST(a_host_is_asked_by_its_ipv4_address),
    TEST(sends_are_drained_before_a_disconnect),
};

MAIN(tests)
