/* Private data: what programs send along with a request and with its answer. Beside VIPL. */
#include "pair.h"

#ifndef VIP_HAS_PRIVATE_DATA
#error "the header has no private data"
#endif

/* Byte n of what is sent. */
static char letter(int n, int seed)
{
    return (char)(n * 7 + seed);
}

static char *letters(char *to, VIP_ULONG length, int seed)
{
    VIP_ULONG n;
    for (n = 0; n < length; n++)
        to[n] = letter((int)n, seed);
    return to;
}

/* That many came, and these. */
static void check_letters(const char *data, VIP_ULONG length, VIP_ULONG wanted, int seed)
{
    VIP_ULONG n;
    CHECK(length == wanted);
    for (n = 0; n < length; n++)
        CHECK(data[n] == letter((int)n, seed));
}

static void check_peer(VIP_VI_HANDLE vi, VIP_ULONG wanted, int seed)
{
    char data[256];
    VIP_ULONG length = sizeof data;
    OK(VipGetPeerData(vi, data, &length));
    check_letters(data, length, wanted, seed);
}

/* What the discriminators of pair.h, "a client" and "a server", leave of a request's room. */
#define ROOM (VIP_MAX_REQUEST_DATA - 8 - 8)

/* What the server's thread does with who asks. */
static VIP_ULONG wanted, answer_length;
static VIP_VI_HANDLE answer_with;

static void *decide(void *unused)
{
    struct address own, from;
    VIP_VI_ATTRIBUTES remote;
    VIP_CONN_HANDLE connection;
    VIP_ULONG length;
    char data[VIP_MAX_ACCEPT_DATA + 1];
    (void)unused;
    OK(VipConnectWait(server.nic, address(&own, server.nic, "a server"), VIP_INFINITE, &from.head, &remote,
                      &connection));
    length = sizeof data;
    OK(VipGetRequestData(connection, data, &length));
    check_letters(data, length, wanted, 1);
    if (wanted != 0) {
        /* Too little room: how much is needed. */
        length = wanted - 1;
        IS(VipGetRequestData(connection, data, &length), VIP_ERROR_RESOURCE);
        CHECK(length == wanted);
        IS(VipGetRequestData(connection, NULL, &length), VIP_INVALID_PARAMETER);
    }
    IS(VipGetRequestData(connection, data, NULL), VIP_INVALID_PARAMETER);
    if (answer_with == NULL) {
        /* Too long: it is not decided on. */
        IS(VipConnectRejectData(connection, data, VIP_MAX_REJECT_DATA + 1), VIP_INVALID_PARAMETER);
        OK(VipConnectRejectData(connection, letters(data, answer_length, 2), answer_length));
    } else {
        IS(VipConnectAcceptData(connection, answer_with, data, VIP_MAX_ACCEPT_DATA + 1), VIP_INVALID_PARAMETER);
        IS(VipConnectAcceptData(connection, answer_with, NULL, 1), VIP_INVALID_PARAMETER);
        OK(VipConnectAcceptData(connection, answer_with, letters(data, answer_length, 2), answer_length));
        check_peer(answer_with, wanted, 1);
    }
    length = sizeof data;
    IS(VipGetRequestData(connection, data, &length), VIP_INVALID_PARAMETER);
    return NULL;
}

/* A client asks with so many bytes, and is answered with so many. */
static VIP_RETURN exchange(VIP_VI_HANDLE with, VIP_VI_HANDLE vi, VIP_ULONG asked, VIP_ULONG answered)
{
    struct address own, to;
    VIP_VI_ATTRIBUTES remote;
    VIP_RETURN answer;
    pthread_t thread;
    char data[VIP_MAX_REQUEST_DATA];
    answer_with = with;
    wanted = asked;
    answer_length = answered;
    CHECK(pthread_create(&thread, NULL, decide, NULL) == 0);
    address(&own, client.nic, "a client");
    address(&to, server.nic, "a server");
    letters(data, asked, 1);
    do
        answer = VipConnectRequestData(vi, &own.head, &to.head, VIP_INFINITE, &remote, data, asked);
    while (answer == VIP_NO_MATCH);
    CHECK(pthread_join(thread, NULL) == 0);
    check_peer(vi, answered, 2);
    return answer;
}

static void private_data_go_with_requests_and_acceptances(void)
{
    static const VIP_ULONG lengths[][2] = {{ROOM, VIP_MAX_ACCEPT_DATA}, {0, 0}, {1, 0}, {0, 1}};
    size_t n;
    begin_both();
    there = create_vi(&server, NULL, NULL);
    here = create_vi(&client, NULL, NULL);
    check_peer(here, 0, 0);
    for (n = 0; n < sizeof lengths / sizeof *lengths; n++) {
        OK(exchange(there, here, lengths[n][0], lengths[n][1]));
        OK(VipDisconnect(here));
        OK(VipDisconnect(there));
    }
    /* Who sends none and who asks for some are connected as any others. */
    OK(meet(there, here));
    check_peer(here, 0, 0);
    check_peer(there, 0, 0);
    end_connected();
}

static void private_data_go_with_rejections(void)
{
    VIP_VI_HANDLE vi;
    begin_both();
    vi = create_vi(&client, NULL, NULL);
    IS(exchange(NULL, vi, 5, VIP_MAX_REJECT_DATA), VIP_REJECT);
    IS(exchange(NULL, vi, 0, 0), VIP_REJECT);
    CHECK(state_of(vi) == VIP_STATE_IDLE);
    OK(VipDestroyVi(vi));
    end_both();
}

static void peers_exchange_private_data(void)
{
    struct address one, two;
    VIP_VI_ATTRIBUTES remote;
    char data[VIP_MAX_REQUEST_DATA];
    begin_both();
    there = create_vi(&server, NULL, NULL);
    here = create_vi(&client, NULL, NULL);
    address(&one, server.nic, "one");
    address(&two, client.nic, "two");
    OK(VipConnectPeerRequestData(there, &one.head, &two.head, VIP_INFINITE,
                                 letters(data, VIP_MAX_REQUEST_DATA - 6, 3), VIP_MAX_REQUEST_DATA - 6));
    OK(VipConnectPeerRequestData(here, &two.head, &one.head, VIP_INFINITE, letters(data, 4, 4), 4));
    OK(VipConnectPeerWait(there, &remote));
    OK(VipConnectPeerWait(here, &remote));
    check_peer(there, 4, 4);
    check_peer(here, VIP_MAX_REQUEST_DATA - 6, 3);
    end_connected();
}

static void more_private_data_than_fit_are_an_invalid_parameter(void)
{
    struct address own, to;
    VIP_VI_ATTRIBUTES remote;
    char data[VIP_MAX_ACCEPT_DATA + 1];
    VIP_ULONG length = sizeof data;
    VIP_VI_HANDLE vi;
    begin_both();
    vi = create_vi(&client, NULL, NULL);
    address(&own, client.nic, "a client");
    address(&to, server.nic, "a server");
    letters(data, sizeof data, 0);
    IS(VipConnectRequestData(vi, &own.head, &to.head, 0, &remote, data, ROOM + 1), VIP_INVALID_PARAMETER);
    IS(VipConnectRequestData(vi, &own.head, &to.head, 0, &remote, data, ~0UL), VIP_INVALID_PARAMETER);
    IS(VipConnectRequestData(vi, &own.head, &to.head, 0, &remote, NULL, 1), VIP_INVALID_PARAMETER);
    IS(VipConnectPeerRequestData(vi, &own.head, &to.head, 0, data, ROOM + 1), VIP_INVALID_PARAMETER);
    IS(VipConnectPeerRequestData(vi, &own.head, &to.head, 0, NULL, 1), VIP_INVALID_PARAMETER);
    CHECK(state_of(vi) == VIP_STATE_IDLE);
    IS(VipGetPeerData(NULL, data, &length), VIP_INVALID_PARAMETER);
    IS(VipGetRequestData(vi, data, &length), VIP_INVALID_PARAMETER);
    OK(VipDestroyVi(vi));
    end_both();
}

static const struct test tests[] = {
    TEST(private_data_go_with_requests_and_acceptances),
    TEST(private_data_go_with_rejections),
    TEST(peers_exchange_private_data),
    TEST(more_private_data_than_fit_are_an_invalid_parameter),
};

MAIN(tests)
