/* Messages that find no receive: the connection breaks, or the sender sends again. Beside VIPL. */
#include <vipl_ext.h>

#include "pair.h"

/* Two VIs that are connected. The server's does so with a message that finds no receive. */
static void begin_with(VIP_BOOLEAN stay, VIP_ULONG timer, VIP_ULONG retries)
{
    begin_both();
    there = create_vi(&server, NULL, NULL);
    here = create_vi(&client, NULL, NULL);
    OK(VipExtSetNotReady(there, stay, timer, retries));
    OK(meet(there, here));
}

static void a_sender_waits_for_a_late_receive_of_a_vi_that_stays(void)
{
    VIP_DESCRIPTOR *d, *s;
    begin_with(VIP_TRUE, 12, VIP_EXT_WITHOUT_END);
    s = descriptor(&client, 0, 300);
    memset((char *)s + 64, 'x', 300);
    OK(VipPostSend(here, s, client.handle));
    IS(VipSendWait(here, 200, &s), VIP_TIMEOUT);
    CHECK(state_of(here) == VIP_STATE_CONNECTED && state_of(there) == VIP_STATE_CONNECTED);
    d = descriptor(&server, 0, 500);
    post_recv(d);
    OK(VipRecvWait(there, 5000, &d));
    CHECK(d->CS.Length == 300 && ((char *)d)[64] == 'x' && ((char *)d)[64 + 299] == 'x');
    OK(VipSendWait(here, 5000, &s));
    CHECK(s->CS.Status == (VIP_STATUS_DONE | VIP_STATUS_OP_SEND));
    end_connected();
}

static void a_sender_breaks_when_its_retries_are_over(void)
{
    VIP_DESCRIPTOR *s;
    begin_with(VIP_TRUE, 1, 2);
    OK(VipPostSend(here, descriptor(&client, 0, 10), client.handle));
    IS(VipSendWait(here, 5000, &s), VIP_DESCRIPTOR_ERROR);
    CHECK(s->CS.Status == (VIP_STATUS_DONE | VIP_STATUS_OP_SEND | VIP_STATUS_TRANSPORT_ERROR));
    CHECK(state_of(here) == VIP_STATE_ERROR);
    end_connected();
}

static void a_vi_that_does_not_stay_breaks_at_the_first_message_without_a_receive(void)
{
    VIP_DESCRIPTOR *s;
    begin_with(VIP_FALSE, 0, 0);
    OK(VipPostSend(here, descriptor(&client, 0, 10), client.handle));
    IS(VipSendWait(here, 5000, &s), VIP_DESCRIPTOR_ERROR);
    CHECK(s->CS.Status == (VIP_STATUS_DONE | VIP_STATUS_OP_SEND | VIP_STATUS_TRANSPORT_ERROR));
    CHECK(state_of(here) == VIP_STATE_ERROR && state_of(there) == VIP_STATE_ERROR);
    end_connected();
}

static void what_an_idle_vi_does_with_such_messages_is_set_within_its_ranges_and_stays_set(void)
{
    VIP_VI_ATTRIBUTES attributes;
    VIP_DESCRIPTOR *d, *s;
    IS(VipExtSetNotReady(NULL, VIP_TRUE, 1, 1), VIP_INVALID_PARAMETER);
    begin_both();
    there = create_vi(&server, NULL, NULL);
    here = create_vi(&client, NULL, NULL);
    IS(VipExtSetNotReady(there, VIP_TRUE, 32, 1), VIP_INVALID_PARAMETER);
    IS(VipExtSetNotReady(there, VIP_TRUE, 256, 1), VIP_INVALID_PARAMETER);
    IS(VipExtSetNotReady(there, VIP_TRUE, 1, 8), VIP_INVALID_PARAMETER);
    OK(VipExtSetNotReady(there, VIP_TRUE, 31, 6));
    OK(VipExtSetNotReady(there, VIP_TRUE, 12, VIP_EXT_WITHOUT_END));
    /* VIPL's attributes do not have it: they leave it. */
    attributes = vi_attributes(&server);
    OK(VipSetViAttributes(there, &attributes));
    OK(meet(there, here));
    IS(VipExtSetNotReady(there, VIP_FALSE, 0, 0), VIP_INVALID_STATE);
    s = descriptor(&client, 0, 10);
    OK(VipPostSend(here, s, client.handle));
    IS(VipSendWait(here, 100, &s), VIP_TIMEOUT);
    post_recv(descriptor(&server, 0, 500));
    OK(VipRecvWait(there, 5000, &d));
    OK(VipSendWait(here, 5000, &s));
    end_connected();
}

static const struct test tests[] = {
    TEST(a_sender_waits_for_a_late_receive_of_a_vi_that_stays),
    TEST(a_sender_breaks_when_its_retries_are_over),
    TEST(a_vi_that_does_not_stay_breaks_at_the_first_message_without_a_receive),
    TEST(what_an_idle_vi_does_with_such_messages_is_set_within_its_ranges_and_stays_set),
};

MAIN(tests)
