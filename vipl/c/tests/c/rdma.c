/* RDMA, right and wrong at each reliability level. */
#include "levels.h"

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

static const struct test tests[] = {
    TEST(an_rdma_write_takes_no_receive_and_the_target_does_not_notice),
    TEST(an_rdma_write_without_the_right_is_a_protection_error_at_both_ends),
    TEST(a_failing_rdma_write_with_immediate_says_so_in_the_receive),
    TEST(an_rdma_read_brings_the_peers_memory),
    TEST(an_rdma_read_without_the_right_is_a_protection_error_at_both_ends),
    TEST(an_rdma_read_of_an_unreliable_vi_is_a_format_error),
    TEST(a_fenced_descriptor_waits_for_the_reads_before_it),
};

MAIN(tests)
