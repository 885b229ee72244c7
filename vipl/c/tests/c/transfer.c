/* What a connected VI does with messages, right or wrong, at each reliability level. */
#include "levels.h"

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
    TEST(messages_arrive_in_their_order_at_every_level),
};

MAIN(tests)
