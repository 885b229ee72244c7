/* Two peers that ask each other, by connection queues. Beside VIPL. */
#include "conn_queue.h"

static VIP_EXT_CONN_QUEUE_HANDLE queues[2];
static struct address addresses[2];
static int words[2];

static void check_next(int n, VIP_ULONG kind)
{
    VIP_EXT_CONN_EVENT event = next_of(queues[n]);
    CHECK(event.Kind == kind && event.Context == &words[n]);
}

static void peers_that_ask_each_other_by_queues_are_connected(void)
{
    VIP_VI_HANDLE vis[2];
    VIP_ULONG length;
    char data[VIP_MAX_REQUEST_DATA];
    int round, n;
    begin_both();
    vis[0] = there = create_vi(&server, NULL, NULL);
    vis[1] = here = create_vi(&client, NULL, NULL);
    OK(VipExtCreateConnQueue(server.nic, &queues[0]));
    OK(VipExtCreateConnQueue(client.nic, &queues[1]));
    address(&addresses[0], server.nic, "one");
    address(&addresses[1], client.nic, "two");
    IS(VipExtConnQueuePeerRequest(queues[0], here, &addresses[0].head, &addresses[1].head, 20000, NULL, 0, NULL),
       VIP_INVALID_PARAMETER);
    for (round = 0; round < 2; round++) {
        for (n = 0; n < 2; n++)
            OK(VipExtConnQueuePeerRequest(queues[n], vis[n], &addresses[n].head, &addresses[1 - n].head, 20000,
                                          n == 0 ? "one's" : "two's", 5, &words[n]));
        IS(VipExtConnQueuePeerRequest(queues[1], here, &addresses[1].head, &addresses[0].head, 0, NULL, 0, NULL),
           VIP_INVALID_STATE);
        for (n = 0; n < 2; n++) {
            check_next(n, VIP_EXT_CONN_CONNECTED);
            CHECK(state_of(vis[n]) == VIP_STATE_CONNECTED);
            length = sizeof data;
            OK(VipGetPeerData(vis[n], data, &length));
            CHECK(length == 5 && memcmp(data, n == 0 ? "two's" : "one's", 5) == 0);
        }
        OK(VipExtConnQueueDisconnect(queues[0], vis[0]));
        check_next(0, VIP_EXT_CONN_PARTED);
        check_next(1, VIP_EXT_CONN_DISCONNECTED);
        OK(VipExtConnQueueDisconnect(queues[1], vis[1]));
    }
    for (n = 0; n < 2; n++)
        OK(VipExtDestroyConnQueue(queues[n]));
    end_connected();
}

static void a_peer_that_nobody_asks_back_gives_up(void)
{
    VIP_EXT_CONN_EVENT event;
    begin_both();
    here = create_vi(&client, NULL, NULL);
    OK(VipExtCreateConnQueue(client.nic, &queues[1]));
    address(&addresses[0], server.nic, "one");
    address(&addresses[1], client.nic, "two");
    OK(VipExtConnQueuePeerRequest(queues[1], here, &addresses[1].head, &addresses[0].head, 300, NULL, 0, &words[1]));
    event = next_of(queues[1]);
    CHECK(event.Kind == VIP_EXT_CONN_FAILED && event.Status == VIP_TIMEOUT && event.Context == &words[1]);
    CHECK(state_of(here) == VIP_STATE_IDLE);
    OK(VipExtDestroyConnQueue(queues[1]));
    OK(VipDestroyVi(here));
    end_both();
}

static const struct test tests[] = {
    TEST(peers_that_ask_each_other_by_queues_are_connected),
    TEST(a_peer_that_nobody_asks_back_gives_up),
};

MAIN(tests)
