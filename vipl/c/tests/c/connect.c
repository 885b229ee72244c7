/* Connections between two NICs, and what moves over them. */
#include "pair.h"

static void a_client_and_a_server_meet(void)
{
    begin_connected();
    CHECK(state_of(there) == VIP_STATE_CONNECTED && state_of(here) == VIP_STATE_CONNECTED);
    CHECK(met.ReliabilityLevel == VIP_SERVICE_RELIABLE_DELIVERY && met.MaxTransferSize == 32768);
    CHECK(met.EnableRdmaWrite && met.EnableRdmaRead && met.Ptag == NULL);
    /* The server knows who has asked. */
    CHECK(accept_from.head.HostAddressLen == 6 && accept_from.head.DiscriminatorLen == 8);
    CHECK(memcmp(accept_from.head.HostAddress, "\2\0\0\0\0\2a client", 14) == 0);
    CHECK(accept_remote.ReliabilityLevel == VIP_SERVICE_RELIABLE_DELIVERY && accept_remote.MaxTransferSize == 32768);
    CHECK(!accept_remote.EnableRdmaWrite && accept_remote.Ptag == NULL);
    /* Connected is not idle. */
    IS(ask(here, &accept_remote), VIP_INVALID_STATE);
    IS(VipDestroyVi(here), VIP_ERROR_RESOURCE);
    end_connected();
}

static void a_wait_for_a_connection_ends_with_its_time(void)
{
    struct address own, from;
    VIP_VI_ATTRIBUTES remote;
    VIP_CONN_HANDLE connection;
    double start;
    begin(&server, "nic0");
    address(&own, server.nic, "nobody comes");
    start = seconds();
    IS(VipConnectWait(server.nic, &own.head, 100, &from.head, &remote, &connection), VIP_TIMEOUT);
    CHECK(seconds() - start >= 0.1 && seconds() - start < 10);
    IS(VipConnectWait(server.nic, NULL, 100, &from.head, &remote, &connection), VIP_INVALID_PARAMETER);
    IS(VipConnectWait(server.nic, &own.head, 100, NULL, &remote, &connection), VIP_INVALID_PARAMETER);
    IS(VipConnectWait(server.nic, &own.head, 100, &from.head, &remote, NULL), VIP_INVALID_PARAMETER);
    /* Not of this NIC's. */
    own.head.HostAddress[5] = 77;
    IS(VipConnectWait(server.nic, &own.head, 100, &from.head, &remote, &connection), VIP_INVALID_PARAMETER);
    own.head.HostAddress[5] = 1;
    own.head.DiscriminatorLen = 1000;
    IS(VipConnectWait(server.nic, &own.head, 100, &from.head, &remote, &connection), VIP_INVALID_PARAMETER);
    end(&server);
}

static void a_server_rejects(void)
{
    VIP_VI_HANDLE vi;
    begin_both();
    vi = create_vi(&client, NULL, NULL);
    IS(meet(NULL, vi), VIP_REJECT);
    OK(accept_answer);
    CHECK(state_of(vi) == VIP_STATE_IDLE);
    OK(VipDestroyVi(vi));
    end_both();
}

static void *serve_on_the_second_try(void *unused)
{
    struct address own;
    VIP_CONN_HANDLE connection = NULL;
    VIP_VI_ATTRIBUTES attributes = vi_attributes(&server);
    (void)unused;
    OK(VipConnectWait(server.nic, address(&own, server.nic, "a server"), VIP_INFINITE, &accept_from.head,
                      &accept_remote, &connection));
    attributes.MaxTransferSize = 1000;
    OK(VipSetViAttributes(accept_with, &attributes));
    IS(VipConnectAccept(connection, accept_with), VIP_INVALID_MTU);
    attributes.MaxTransferSize = accept_remote.MaxTransferSize;
    attributes.ReliabilityLevel = VIP_SERVICE_UNRELIABLE;
    OK(VipSetViAttributes(accept_with, &attributes));
    IS(VipConnectAccept(connection, accept_with), VIP_INVALID_RELIABILITY_LEVEL);
    attributes.ReliabilityLevel = accept_remote.ReliabilityLevel;
    OK(VipSetViAttributes(accept_with, &attributes));
    accept_answer = VipConnectAccept(connection, accept_with);
    return NULL;
}

static void attributes_that_differ_are_told_to_the_server_alone_which_may_try_again(void)
{
    VIP_VI_ATTRIBUTES remote;
    pthread_t thread;
    begin_both();
    there = accept_with = create_vi(&server, NULL, NULL);
    here = create_vi(&client, NULL, NULL);
    /* It stays posted. */
    OK(VipPostRecv(there, descriptor(&server, 5, 100), server.handle));
    CHECK(pthread_create(&thread, NULL, serve_on_the_second_try, NULL) == 0);
    OK(ask(here, &remote));
    CHECK(pthread_join(thread, NULL) == 0);
    OK(accept_answer);
    CHECK(state_of(there) == VIP_STATE_CONNECTED);
    end_connected();
}

static void messages_arrive_with_their_data(void)
{
    VIP_DESCRIPTOR *d, *s;
    begin_connected();
    d = descriptor(&server, 0, 500);
    post_recv(d);
    s = descriptor(&client, 0, 300);
    memset((char *)s + 64, 'x', 300);
    s->CS.Control |= VIP_CONTROL_IMMEDIATE;
    s->CS.ImmediateData = 0x12345678;
    OK(VipPostSend(here, s, client.handle));
    OK(VipSendWait(here, 5000, &s));
    CHECK(s->CS.Status == (VIP_STATUS_DONE | VIP_STATUS_OP_SEND) && s->CS.Length == 300);
    OK(VipRecvWait(there, 5000, &d));
    CHECK((char *)d == server.memory);
    CHECK(d->CS.Status == (VIP_STATUS_DONE | VIP_STATUS_OP_RECEIVE | VIP_STATUS_IMMEDIATE));
    /* Longer than the message: the bytes that have come. */
    CHECK(d->CS.Length == 300 && d->CS.ImmediateData == 0x12345678);
    CHECK(((char *)d)[64] == 'x' && ((char *)d)[64 + 299] == 'x' && ((char *)d)[64 + 300] == 0);
    /* Nothing but immediate data: it takes a receive. */
    d = descriptor(&server, 1, 0);
    d->CS.SegCount = 0;
    post_recv(d);
    s = descriptor(&client, 1, 0);
    s->CS.SegCount = 0;
    s->CS.Control |= VIP_CONTROL_IMMEDIATE;
    s->CS.ImmediateData = 7;
    OK(VipPostSend(here, s, client.handle));
    OK(VipRecvWait(there, 5000, &d));
    CHECK(d->CS.Length == 0 && d->CS.ImmediateData == 7 && (d->CS.Status & VIP_STATUS_IMMEDIATE));
    OK(VipSendWait(here, 5000, &s));
    end_connected();
}

static void an_rdma_write_with_immediate_takes_one_receive_and_leaves_its_segments(void)
{
    VIP_DESCRIPTOR *d, *s;
    begin_connected();
    d = descriptor(&server, 0, 500);
    memset((char *)d + 64, 'o', 500);
    post_recv(d);
    s = descriptor(&client, 0, 100);
    memset((char *)s + 512, 'w', 100);
    s->CS.Control = VIP_CONTROL_OP_RDMAWRITE | VIP_CONTROL_IMMEDIATE;
    s->CS.ImmediateData = 99;
    s->CS.SegCount = 2;
    s->DS[0].Remote.Data.Address = server.memory + 8192;
    s->DS[0].Remote.Handle = server.handle;
    s->DS[0].Remote.Reserved = 0;
    s->DS[1].Local.Data.Address = (char *)s + 512;
    s->DS[1].Local.Handle = client.handle;
    s->DS[1].Local.Length = 100;
    OK(VipPostSend(here, s, client.handle));
    OK(VipRecvWait(there, 5000, &d));
    CHECK(d->CS.Status == (VIP_STATUS_DONE | VIP_STATUS_OP_REMOTE_RDMA_WRITE | VIP_STATUS_IMMEDIATE));
    CHECK(d->CS.ImmediateData == 99 && ((char *)d)[64] == 'o');
    CHECK(server.memory[8192] == 'w' && server.memory[8192 + 99] == 'w' && server.memory[8192 + 100] == 0);
    OK(VipSendWait(here, 5000, &s));
    CHECK(s->CS.Status == (VIP_STATUS_DONE | VIP_STATUS_OP_RDMA_WRITE));
    end_connected();
}

static volatile int lost;
static VIP_VI_HANDLE lost_vi;

static void on_error(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error)
{
    (void)context;
    if (error->ErrorCode == VIP_ERROR_CONN_LOST) {
        lost_vi = error->ViHandle;
        __sync_fetch_and_add(&lost, 1);
    }
}

static void a_disconnect_flushes_here_and_is_an_error_there(void)
{
    VIP_DESCRIPTOR *d;
    double start = seconds();
    begin_connected();
    lost = 0;
    OK(VipErrorCallback(server.nic, NULL, on_error));
    post_recv(descriptor(&server, 0, 100));
    OK(VipPostRecv(here, descriptor(&client, 0, 100), client.handle));
    OK(VipDisconnect(here));
    CHECK(state_of(here) == VIP_STATE_IDLE);
    IS(VipRecvDone(here, &d), VIP_DESCRIPTOR_ERROR);
    CHECK(d != NULL && (d->CS.Status & VIP_STATUS_DESC_FLUSHED_ERROR));
    while ((lost == 0 || state_of(there) != VIP_STATE_ERROR) && seconds() - start < 20)
        usleep(1000);
    CHECK(lost == 1 && lost_vi == there && state_of(there) == VIP_STATE_ERROR);
    IS(VipRecvWait(there, 5000, &d), VIP_DESCRIPTOR_ERROR);
    CHECK(d != NULL && (d->CS.Status & VIP_STATUS_DESC_FLUSHED_ERROR));
    /* What is posted now is flushed as well. */
    post_recv(descriptor(&server, 1, 100));
    IS(VipRecvWait(there, 5000, &d), VIP_DESCRIPTOR_ERROR);
    CHECK((char *)d == server.memory + 1024);
    OK(VipDisconnect(there));
    CHECK(state_of(there) == VIP_STATE_IDLE);
    /* And again. */
    OK(meet(there, here));
    end_connected();
}

static void peers_meet(void)
{
    struct address a, b;
    VIP_VI_ATTRIBUTES remote;
    VIP_VI_HANDLE one, two;
    VIP_RETURN answer;
    double start = seconds();
    begin_both();
    one = create_vi(&server, NULL, NULL);
    two = create_vi(&client, NULL, NULL);
    address(&a, server.nic, "one");
    address(&b, client.nic, "two");
    IS(VipConnectPeerDone(one, &remote), VIP_INVALID_STATE);
    OK(VipConnectPeerRequest(one, &a.head, &b.head, 20000));
    CHECK(state_of(one) == VIP_STATE_CONNECT_PENDING);
    IS(VipConnectPeerDone(one, &remote), VIP_NOT_DONE);
    IS(VipConnectPeerRequest(one, &a.head, &b.head, 20000), VIP_INVALID_STATE);
    OK(VipConnectPeerRequest(two, &b.head, &a.head, 20000));
    OK(VipConnectPeerWait(two, &remote));
    CHECK(remote.MaxTransferSize == 32768);
    do
        answer = VipConnectPeerDone(one, &remote);
    while (answer == VIP_NOT_DONE && seconds() - start < 20);
    OK(answer);
    CHECK(state_of(one) == VIP_STATE_CONNECTED && state_of(two) == VIP_STATE_CONNECTED);
    OK(VipDisconnect(one));
    OK(VipDisconnect(two));
    OK(VipDestroyVi(one));
    OK(VipDestroyVi(two));
    end_both();
}

static void a_peer_that_does_not_come_is_a_time_out(void)
{
    struct address a, b;
    VIP_VI_ATTRIBUTES remote;
    VIP_VI_HANDLE one;
    VIP_DESCRIPTOR *d;
    begin_both();
    one = create_vi(&server, NULL, NULL);
    address(&a, server.nic, "one");
    address(&b, client.nic, "two");
    OK(VipConnectPeerRequest(one, &a.head, &b.head, 300));
    /* As in any state but Connected, a send is flushed. */
    OK(VipPostSend(one, descriptor(&server, 0, 10), server.handle));
    IS(VipSendDone(one, &d), VIP_DESCRIPTOR_ERROR);
    CHECK(d != NULL && (d->CS.Status & VIP_STATUS_DESC_FLUSHED_ERROR));
    IS(VipConnectPeerWait(one, &remote), VIP_TIMEOUT);
    CHECK(state_of(one) == VIP_STATE_IDLE);
    IS(VipConnectPeerDone(one, &remote), VIP_INVALID_STATE);
    OK(VipDestroyVi(one));
    end_both();
}

static void a_vi_without_a_tag_uses_tagged_memory_where_that_is_asked_for(void)
{
    VIP_VI_ATTRIBUTES attributes;
    VIP_DESCRIPTOR *d;
    CHECK(setenv("VIPL_COMPAT", "null-ptag", 1) == 0);
    begin_both();
    attributes = vi_attributes(&server);
    attributes.Ptag = NULL;
    attributes.EnableRdmaWrite = VIP_TRUE;
    OK(VipCreateVi(server.nic, &attributes, NULL, NULL, &there));
    attributes = vi_attributes(&client);
    attributes.Ptag = NULL;
    OK(VipCreateVi(client.nic, &attributes, NULL, NULL, &here));
    OK(meet(there, here));
    /* Descriptors and data in memory that has a tag. */
    post_recv(descriptor(&server, 0, 64));
    d = descriptor(&client, 0, 64);
    memset((char *)d + 64, 'x', 64);
    OK(VipPostSend(here, d, client.handle));
    OK(VipSendWait(here, 5000, &d));
    OK(VipRecvWait(there, 5000, &d));
    CHECK(d->CS.Length == 64 && memcmp((char *)d + 64, "xxxxxxxx", 8) == 0);
    /* A peer reaches it, too. */
    d = descriptor(&client, 1, 64);
    d->CS.Control = VIP_CONTROL_OP_RDMAWRITE;
    d->CS.SegCount = 2;
    d->DS[1] = d->DS[0];
    d->DS[1].Local.Data.Address = memset((char *)d + 128, 'y', 64);
    memset(&d->DS[0], 0, sizeof d->DS[0]);
    d->DS[0].Remote.Data.Address = server.memory + 8192;
    d->DS[0].Remote.Handle = server.handle;
    OK(VipPostSend(here, d, client.handle));
    OK(VipSendWait(here, 5000, &d));
    CHECK(memcmp(server.memory + 8192, "yyyyyyyy", 8) == 0);
    /* A handle that memory was registered with is in use; one that nothing was made with is not. */
    IS(VipDestroyPtag(server.nic, server.ptag), VIP_ERROR_RESOURCE);
    {
        VIP_PROTECTION_HANDLE other;
        OK(VipCreatePtag(server.nic, &other));
        CHECK(other != server.ptag);
        OK(VipDestroyPtag(server.nic, other));
    }
    end_connected();
    CHECK(unsetenv("VIPL_COMPAT") == 0);
}

static const struct test tests[] = {
    TEST(a_client_and_a_server_meet),
    TEST(a_wait_for_a_connection_ends_with_its_time),
    TEST(a_server_rejects),
    TEST(attributes_that_differ_are_told_to_the_server_alone_which_may_try_again),
    TEST(messages_arrive_with_their_data),
    TEST(an_rdma_write_with_immediate_takes_one_receive_and_leaves_its_segments),
    TEST(a_disconnect_flushes_here_and_is_an_error_there),
    TEST(peers_meet),
    TEST(a_peer_that_does_not_come_is_a_time_out),
    TEST(a_vi_without_a_tag_uses_tagged_memory_where_that_is_asked_for),
};

MAIN(tests)
