/* What a connected VI does with a descriptor, right or wrong, at each reliability level. */
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

/* An RDMA descriptor of one segment: `bytes` bytes at `offset` of the client's memory, and at `to` of the server's. */
static VIP_DESCRIPTOR *rdma(int place, VIP_UINT16 operation, int offset, int to, VIP_UINT32 bytes)
{
    VIP_DESCRIPTOR *d = descriptor(&client, place, bytes);
    d->CS.Control = operation;
    d->CS.SegCount = 2;
    d->DS[0].Remote.Data.Address = server.memory + to;
    d->DS[0].Remote.Handle = server.handle;
    d->DS[0].Remote.Reserved = 0;
    d->DS[1].Local.Data.Address = client.memory + offset;
    d->DS[1].Local.Handle = client.handle;
    d->DS[1].Local.Length = bytes;
    return d;
}

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

/* ---- No receive posted -------------------------------------------------------------------------------------------- */

static void without_a_receive_an_unreliable_message_is_dropped_and_the_connection_stays(void)
{
    begin_connected_as(UD);
    watch();
    /* Its sender does not hear of it. */
    CHECK(sent(descriptor(&client, 0, 100)) == SENT);
    await_error(server_errors, VIP_ERROR_RECVQ_EMPTY, 1);
    CHECK(state_of(there) == VIP_STATE_CONNECTED && state_of(here) == VIP_STATE_CONNECTED);
    a_message_arrives();
    end_connected();
}

static void without_a_receive_a_reliable_connection_breaks(void)
{
    VIP_DESCRIPTOR *d;
    begin_connected_as(RD);
    watch();
    sent(descriptor(&client, 0, 100));
    await_error(server_errors, VIP_ERROR_RECVQ_EMPTY, 1);
    await_state(there, VIP_STATE_ERROR);
    await_state(here, VIP_STATE_ERROR);
    /* What is posted now is flushed. */
    OK(VipPostSend(here, descriptor(&client, 1, 100), client.handle));
    IS(VipSendWait(here, 10000, &d), VIP_DESCRIPTOR_ERROR);
    CHECK(d->CS.Status == (SENT | VIP_STATUS_DESC_FLUSHED_ERROR));
    end_connected();
}

static void without_a_receive_reliable_reception_tells_the_sender(void)
{
    begin_connected_as(RR);
    watch();
    CHECK(sent(descriptor(&client, 0, 100)) == (SENT | VIP_STATUS_REMOTE_DESC_ERROR));
    await_error(server_errors, VIP_ERROR_RECVQ_EMPTY, 1);
    CHECK(state_of(here) == VIP_STATE_ERROR);
    await_state(there, VIP_STATE_ERROR);
    end_connected();
}

/* ---- Lengths ------------------------------------------------------------------------------------------------------ */

static void a_length_that_is_not_the_sum_of_the_segments_is_a_length_error(void)
{
    VIP_DESCRIPTOR *d;
    begin_connected_as(RD);
    d = descriptor(&client, 0, 100);
    d->CS.Length = 99;
    CHECK(sent(d) == (SENT | VIP_STATUS_LENGTH_ERROR) && d->CS.Length == 0);
    CHECK(state_of(here) == VIP_STATE_ERROR);
    end_connected();
}

static void more_than_the_largest_transfer_is_a_length_error(void)
{
    VIP_DESCRIPTOR *d;
    begin_connected_as(UD);
    d = descriptor(&client, 0, 32769);
    CHECK(sent(d) == (SENT | VIP_STATUS_LENGTH_ERROR));
    /* An unreliable connection goes on. */
    CHECK(state_of(here) == VIP_STATE_CONNECTED);
    a_message_arrives();
    end_connected();
}

static void a_message_longer_than_its_receive_is_a_length_error_there(void)
{
    VIP_RELIABILITY_LEVEL level;
    VIP_DESCRIPTOR *d;
    VIP_UINT32 status;
    for (level = UD; level <= RR; level = (VIP_RELIABILITY_LEVEL)(level << 1)) {
        begin_connected_as(level);
        d = descriptor(&server, 0, 50);
        post_recv(d);
        status = sent(descriptor(&client, 0, 100));
        CHECK(received(d) == (RECEIVED | VIP_STATUS_LENGTH_ERROR));
        /* Not a byte behind the receive's. */
        CHECK(((char *)d)[64 + 50] == 0);
        if (level == UD) {
            CHECK(status == SENT);
            CHECK(state_of(there) == VIP_STATE_CONNECTED);
            a_message_arrives();
        } else {
            /* Only Reliable Reception knows what was wrong. */
            CHECK(level == RD || status == (SENT | VIP_STATUS_REMOTE_DESC_ERROR));
            await_state(there, VIP_STATE_ERROR);
            await_state(here, VIP_STATE_ERROR);
        }
        end_connected();
    }
}

/* ---- Wrong descriptors -------------------------------------------------------------------------------------------- */

static void a_segment_outside_its_region_is_a_protection_error(void)
{
    VIP_DESCRIPTOR *d;
    begin_connected_as(RD);
    d = descriptor(&client, 0, 100);
    d->DS[0].Local.Data.Address = client.memory + MEMORY - 50;
    CHECK(sent(d) == (SENT | VIP_STATUS_PROTECTION_ERROR));
    CHECK(state_of(here) == VIP_STATE_ERROR);
    end_connected();
}

static void a_segment_of_no_region_is_a_protection_error(void)
{
    VIP_DESCRIPTOR *d;
    begin_connected_as(UD);
    d = descriptor(&client, 0, 100);
    d->DS[0].Local.Handle = client.handle + 1;
    CHECK(sent(d) == (SENT | VIP_STATUS_PROTECTION_ERROR));
    CHECK(state_of(here) == VIP_STATE_CONNECTED);
    a_message_arrives();
    end_connected();
}

static void an_operation_that_does_not_exist_is_a_format_error(void)
{
    VIP_DESCRIPTOR *d;
    begin_connected_as(UD);
    d = descriptor(&client, 0, 100);
    d->CS.Control = VIP_CONTROL_OP_RESERVED;
    CHECK(sent(d) & VIP_STATUS_FORMAT_ERROR);
    d = descriptor(&client, 1, 100);
    d->CS.Control = 0x10;
    CHECK(sent(d) & VIP_STATUS_FORMAT_ERROR);
    CHECK(state_of(here) == VIP_STATE_CONNECTED);
    a_message_arrives();
    end_connected();
}

static void an_error_breaks_a_reliable_connection_and_the_rest_is_flushed_in_order(void)
{
    VIP_DESCRIPTOR *d, *all[4];
    int n;
    begin_connected_as(RD);
    for (n = 0; n < 4; n++)
        all[n] = descriptor(&client, n, 100);
    all[0]->CS.Length = 7;
    for (n = 0; n < 4; n++)
        OK(VipPostSend(here, all[n], client.handle));
    for (n = 0; n < 4; n++) {
        IS(VipSendWait(here, 10000, &d), VIP_DESCRIPTOR_ERROR);
        CHECK(d == all[n]);
        /* The culprit keeps its own error. */
        CHECK(d->CS.Status == (SENT | (n == 0 ? VIP_STATUS_LENGTH_ERROR : VIP_STATUS_DESC_FLUSHED_ERROR)));
    }
    CHECK(state_of(here) == VIP_STATE_ERROR);
    end_connected();
}

/* ---- RDMA --------------------------------------------------------------------------------------------------------- */

static void an_rdma_write_takes_no_receive_and_the_target_does_not_notice(void)
{
    VIP_RELIABILITY_LEVEL level;
    VIP_DESCRIPTOR *d;
    for (level = UD; level <= RR; level = (VIP_RELIABILITY_LEVEL)(level << 1)) {
        begin_connected_as(level);
        watch();
        memset(client.memory + 50000, 'w', 3000);
        CHECK(sent(rdma(0, VIP_CONTROL_OP_RDMAWRITE, 50000, 50001, 3000)) ==
              (VIP_STATUS_DONE | VIP_STATUS_OP_RDMA_WRITE));
        /* The message behind it arrives behind it. */
        a_message_arrives();
        CHECK(server.memory[50000] == 0 && server.memory[50001] == 'w' && server.memory[53000] == 'w');
        CHECK(server.memory[53001] == 0);
        IS(VipRecvDone(there, &d), VIP_DESCRIPTOR_ERROR);
        CHECK(d == NULL && server_errors[VIP_ERROR_RECVQ_EMPTY] == 0);
        end_connected();
    }
}

static void an_rdma_write_without_the_right_is_a_protection_error_at_both_ends(void)
{
    VIP_MEM_ATTRIBUTES none;
    VIP_RELIABILITY_LEVEL level;
    VIP_UINT32 status;
    for (level = UD; level <= RR; level = (VIP_RELIABILITY_LEVEL)(level << 1)) {
        begin_connected_as(level);
        watch();
        none.Ptag = server.ptag;
        none.EnableRdmaWrite = none.EnableRdmaRead = VIP_FALSE;
        OK(VipSetMemAttributes(server.nic, server.memory, server.handle, &none));
        memset(client.memory + 50000, 'w', 100);
        status = sent(rdma(0, VIP_CONTROL_OP_RDMAWRITE, 50000, 50000, 100));
        await_error(server_errors, VIP_ERROR_RDMAW_PROT, 1);
        CHECK(server.memory[50000] == 0);
        if (level == UD) {
            CHECK(status == (VIP_STATUS_DONE | VIP_STATUS_OP_RDMA_WRITE));
            CHECK(state_of(there) == VIP_STATE_CONNECTED);
        } else {
            CHECK(status == (VIP_STATUS_DONE | VIP_STATUS_OP_RDMA_WRITE | VIP_STATUS_RDMA_PROT_ERROR));
            await_state(there, VIP_STATE_ERROR);
        }
        end_connected();
    }
}

static void a_failing_rdma_write_with_immediate_says_so_in_the_receive(void)
{
    VIP_DESCRIPTOR *d, *s;
    begin_connected_as(RR);
    watch();
    d = descriptor(&server, 0, 100);
    post_recv(d);
    s = rdma(0, VIP_CONTROL_OP_RDMAWRITE | VIP_CONTROL_IMMEDIATE, 50000, 50000, 100);
    /* Behind the end of the region. */
    s->DS[0].Remote.Data.Address = server.memory + MEMORY - 50;
    CHECK(sent(s) & VIP_STATUS_RDMA_PROT_ERROR);
    CHECK(received(d) & VIP_STATUS_RDMA_PROT_ERROR);
    CHECK((d->CS.Status & VIP_STATUS_OP_MASK) == VIP_STATUS_OP_REMOTE_RDMA_WRITE);
    /* There, and not in the callback. */
    usleep(200000);
    CHECK(server_errors[VIP_ERROR_RDMAW_PROT] == 0);
    end_connected();
}

static void an_rdma_read_brings_the_peers_memory(void)
{
    VIP_DESCRIPTOR *s, *d;
    int n;
    begin_connected_as(RR);
    for (n = 0; n < 10000; n++)
        server.memory[50000 + n] = (char)(n * 7);
    s = rdma(0, VIP_CONTROL_OP_RDMAREAD, 40001, 50000, 10000);
    CHECK(sent(s) == (VIP_STATUS_DONE | VIP_STATUS_OP_RDMA_READ) && s->CS.Length == 10000);
    for (n = 0; n < 10000; n++)
        CHECK(client.memory[40001 + n] == (char)(n * 7));
    CHECK(client.memory[40000] == 0 && client.memory[50001] == 0);
    IS(VipRecvDone(there, &d), VIP_DESCRIPTOR_ERROR);
    CHECK(d == NULL);
    end_connected();
}

static void an_rdma_read_without_the_right_is_a_protection_error_at_both_ends(void)
{
    VIP_MEM_ATTRIBUTES none;
    begin_connected_as(RD);
    watch();
    none.Ptag = server.ptag;
    none.EnableRdmaWrite = VIP_TRUE;
    none.EnableRdmaRead = VIP_FALSE;
    OK(VipSetMemAttributes(server.nic, server.memory, server.handle, &none));
    CHECK(sent(rdma(0, VIP_CONTROL_OP_RDMAREAD, 40000, 50000, 100)) ==
          (VIP_STATUS_DONE | VIP_STATUS_OP_RDMA_READ | VIP_STATUS_RDMA_PROT_ERROR));
    await_error(server_errors, VIP_ERROR_RDMAR_PROT, 1);
    end_connected();
}

static void an_rdma_read_of_an_unreliable_vi_is_a_format_error(void)
{
    begin_connected_as(UD);
    CHECK(sent(rdma(0, VIP_CONTROL_OP_RDMAREAD, 40000, 50000, 100)) & VIP_STATUS_FORMAT_ERROR);
    CHECK(state_of(here) == VIP_STATE_CONNECTED);
    a_message_arrives();
    end_connected();
}

static void a_fenced_descriptor_waits_for_the_reads_before_it(void)
{
    VIP_DESCRIPTOR *s, *d, *done;
    int n, round;
    begin_connected_as(RD);
    for (round = 0; round < 10; round++) {
        /* What comes by the read goes out by the send: it must have come. */
        memset(client.memory + 20000, 0, 30000);
        for (n = 0; n < 30000; n++)
            server.memory[20000 + n] = (char)(n + round + 1);
        d = descriptor(&server, 0, 100);
        d->DS[0].Local.Data.Address = server.memory + 16000;
        post_recv(d);
        OK(VipPostSend(here, rdma(0, VIP_CONTROL_OP_RDMAREAD, 20000, 20000, 30000), client.handle));
        s = descriptor(&client, 1, 100);
        s->CS.Control |= VIP_CONTROL_QFENCE;
        s->DS[0].Local.Data.Address = client.memory + 20000 + 29900;
        OK(VipPostSend(here, s, client.handle));
        OK(VipSendWait(here, 10000, &done));
        CHECK((done->CS.Status & VIP_STATUS_OP_MASK) == VIP_STATUS_OP_RDMA_READ);
        OK(VipSendWait(here, 10000, &done));
        CHECK(done == s && received(d) == RECEIVED);
        for (n = 0; n < 100; n++)
            CHECK(server.memory[16000 + n] == (char)(29900 + n + round + 1));
    }
    end_connected();
}

/* ---- Levels ------------------------------------------------------------------------------------------------------- */

static void messages_arrive_in_their_order_at_every_level(void)
{
    VIP_RELIABILITY_LEVEL level;
    VIP_DESCRIPTOR *d, *all[20];
    int n;
    for (level = UD; level <= RR; level = (VIP_RELIABILITY_LEVEL)(level << 1)) {
        begin_connected_as(level);
        for (n = 0; n < 20; n++) {
            all[n] = descriptor(&server, n, 900);
            post_recv(all[n]);
        }
        for (n = 0; n < 20; n++) {
            d = descriptor(&client, n, 900 - (VIP_UINT32)n);
            memset((char *)d + 64, 'a' + n, 900);
            OK(VipPostSend(here, d, client.handle));
        }
        for (n = 0; n < 20; n++) {
            OK(VipSendWait(here, 10000, &d));
            CHECK((char *)d == client.memory + 1024 * n && d->CS.Status == SENT);
            CHECK(received(all[n]) == RECEIVED && all[n]->CS.Length == 900 - (VIP_UINT32)n);
            CHECK(((char *)all[n])[64] == 'a' + n);
        }
        end_connected();
    }
}

static const struct test tests[] = {
    TEST(without_a_receive_an_unreliable_message_is_dropped_and_the_connection_stays),
    TEST(without_a_receive_a_reliable_connection_breaks),
    TEST(without_a_receive_reliable_reception_tells_the_sender),
    TEST(a_length_that_is_not_the_sum_of_the_segments_is_a_length_error),
    TEST(more_than_the_largest_transfer_is_a_length_error),
    TEST(a_message_longer_than_its_receive_is_a_length_error_there),
    TEST(a_segment_outside_its_region_is_a_protection_error),
    TEST(a_segment_of_no_region_is_a_protection_error),
    TEST(an_operation_that_does_not_exist_is_a_format_error),
    TEST(an_error_breaks_a_reliable_connection_and_the_rest_is_flushed_in_order),
    TEST(an_rdma_write_takes_no_receive_and_the_target_does_not_notice),
    TEST(an_rdma_write_without_the_right_is_a_protection_error_at_both_ends),
    TEST(a_failing_rdma_write_with_immediate_says_so_in_the_receive),
    TEST(an_rdma_read_brings_the_peers_memory),
    TEST(an_rdma_read_without_the_right_is_a_protection_error_at_both_ends),
    TEST(an_rdma_read_of_an_unreliable_vi_is_a_format_error),
    TEST(a_fenced_descriptor_waits_for_the_reads_before_it),
    TEST(messages_arrive_in_their_order_at_every_level),
};

MAIN(tests)
