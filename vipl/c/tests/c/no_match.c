/* Nobody waits where a client asks: no_match.rs looks at what is on the wire meanwhile. */
#include "pair.h"

#define REQUESTS 11

static void nobody_waits_is_no_match(void)
{
    struct address own, to;
    VIP_VI_ATTRIBUTES remote;
    VIP_VI_HANDLE vi;
    int n;
    begin_both();
    vi = create_vi(&client, NULL, NULL);
    /* The server has never waited for anything: that its NIC is open is enough. */
    address(&own, client.nic, "a client");
    address(&to, server.nic, "a server");
    for (n = 0; n < REQUESTS; n++)
        IS(VipConnectRequest(vi, &own.head, &to.head, VIP_INFINITE, &remote), VIP_NO_MATCH);
    CHECK(state_of(vi) == VIP_STATE_IDLE);
    OK(VipDestroyVi(vi));
    end_both();
}

static const struct test tests[] = {
    TEST(nobody_waits_is_no_match),
};

MAIN(tests)
