/* Calls that are under way when something ends what they wait for. */
#include <signal.h>
#include <sys/wait.h>

#include <vipl_ext.h>

#include "call.h"

/* ---- Disconnect --------------------------------------------------------------------------------------------------- */

static void a_disconnect_ends_a_request_under_way(void)
{
    struct call waits, asks;
    begin_undecided(&waits, &asks);
    /* It has somebody who thinks about it. */
    CHECK(state_of(asks.vi) == VIP_STATE_CONNECT_PENDING);
    OK(VipPostRecv(asks.vi, descriptor(&client, 0, 100), client.handle));
    OK(VipDisconnect(asks.vi));
    CHECK(ended(&asks) == VIP_INVALID_STATE);
    CHECK(state_of(asks.vi) == VIP_STATE_IDLE);
    /* The server hears that there is nobody any more. */
    waits.vi = create_vi(&server, NULL, NULL);
    CHECK(VipConnectAccept(waits.connection, waits.vi) != VIP_SUCCESS);
    CHECK(state_of(waits.vi) == VIP_STATE_IDLE);
    VipConnectReject(waits.connection);
    /* And both are as good as new. */
    there = waits.vi;
    here = asks.vi;
    OK(meet(there, here));
    end_connected();
}

static void a_disconnect_ends_a_peer_request(void)
{
    struct call waits;
    VIP_VI_ATTRIBUTES remote;
    begin_both();
    waits.vi = create_vi(&server, NULL, NULL);
    peer_request(waits.vi);
    start(&waits, peer_wait);
    OK(VipDisconnect(waits.vi));
    CHECK(ended(&waits) == VIP_INVALID_STATE);
    CHECK(state_of(waits.vi) == VIP_STATE_IDLE);
    IS(VipConnectPeerDone(waits.vi, &remote), VIP_INVALID_STATE);
    /* The one that comes now meets nobody. */
    peer_request(waits.vi);
    CHECK(state_of(waits.vi) == VIP_STATE_CONNECT_PENDING);
    OK(VipDisconnect(waits.vi));
    OK(VipDestroyVi(waits.vi));
    end_both();
}

/* One thread asks for a peer while another disconnects, again and again. */
static pthread_barrier_t together;
static VIP_VI_HANDLE contested;
#define DUELS 300

/* Sooner or later in the other's call. */
static void spin(int n)
{
    int spins;
    for (spins = 0; spins < n % 100 * 200; spins++)
        __sync_synchronize();
}

static void *disconnect_again_and_again(void *unused)
{
    int n;
    (void)unused;
    for (n = 0; n < DUELS; n++) {
        pthread_barrier_wait(&together);
        spin(n);
        OK(VipDisconnect(contested));
        pthread_barrier_wait(&together);
    }
    return NULL;
}

static void a_disconnect_beside_a_peer_request_comes_before_or_after_it(void)
{
    struct address own, to;
    VIP_VI_ATTRIBUTES remote;
    VIP_VI_STATE state;
    VIP_RETURN asked, done;
    pthread_t thread;
    int n;
    begin(&server, "nic0");
    contested = create_vi(&server, NULL, NULL);
    address(&own, server.nic, "one");
    address(&to, server.nic, "nobody");
    CHECK(pthread_barrier_init(&together, NULL, 2) == 0);
    CHECK(pthread_create(&thread, NULL, disconnect_again_and_again, NULL) == 0);
    for (n = 0; n < DUELS; n++) {
        pthread_barrier_wait(&together);
        asked = VipConnectPeerRequest(contested, &own.head, &to.head, VIP_INFINITE);
        pthread_barrier_wait(&together);
        CHECK(asked == VIP_SUCCESS || asked == VIP_INVALID_STATE);
        state = state_of(contested);
        done = VipConnectPeerDone(contested, &remote);
        /* Either it is idle, or its request is on its way. */
        if (state == VIP_STATE_CONNECT_PENDING)
            CHECK(asked == VIP_SUCCESS && done == VIP_NOT_DONE);
        else
            CHECK(state == VIP_STATE_IDLE && done == VIP_INVALID_STATE);
        OK(VipDisconnect(contested));
    }
    CHECK(pthread_join(thread, NULL) == 0);
    pthread_barrier_destroy(&together);
    OK(VipDestroyVi(contested));
    end(&server);
}

/* One thread destroys a connection queue while another asks by it. */
static VIP_EXT_CONN_QUEUE_HANDLE contested_queue;

static void *destroy_again_and_again(void *unused)
{
    int n;
    (void)unused;
    for (n = 0; n < DUELS; n++) {
        pthread_barrier_wait(&together);
        spin(n);
        OK(VipExtDestroyConnQueue(contested_queue));
        pthread_barrier_wait(&together);
    }
    return NULL;
}

static void a_queue_that_is_destroyed_beside_a_request_leaves_none_under_way(void)
{
    struct address own, to;
    VIP_RETURN asked;
    pthread_t thread;
    int n;
    begin(&server, "nic0");
    contested = create_vi(&server, NULL, NULL);
    address(&own, server.nic, "one");
    address(&to, server.nic, "nobody");
    CHECK(pthread_barrier_init(&together, NULL, 2) == 0);
    CHECK(pthread_create(&thread, NULL, destroy_again_and_again, NULL) == 0);
    for (n = 0; n < DUELS; n++) {
        OK(VipExtCreateConnQueue(server.nic, &contested_queue));
        pthread_barrier_wait(&together);
        asked = VipExtConnQueueRequest(contested_queue, contested, &own.head, &to.head, 20000, NULL, 0, NULL);
        pthread_barrier_wait(&together);
        CHECK(asked == VIP_SUCCESS || asked == VIP_INVALID_PARAMETER);
        CHECK(state_of(contested) == VIP_STATE_IDLE);
    }
    CHECK(pthread_join(thread, NULL) == 0);
    pthread_barrier_destroy(&together);
    OK(VipDestroyVi(contested));
    end(&server);
}

/* A client in a process of its own, which dies when the server has heard it. */
static pid_t ask_and_die(const char *program)
{
    pid_t child = fork();
    if (child == 0) {
        execl(program, program, "client", (char *)NULL);
        _exit(1);
    }
    CHECK(child > 0);
    return child;
}

static const char *own_program;

static void a_disconnect_ends_an_accept_under_way(void)
{
    struct call waits, accepts;
    VIP_CQ_HANDLE cq;
    VIP_VI_HANDLE vi;
    VIP_BOOLEAN receive;
    VIP_DESCRIPTOR *d[3], *s, *done;
    VIP_RETURN answer;
    pid_t child;
    int n, has_ended;
    begin(&server, "nic0");
    OK(VipCreateCQ(server.nic, 64, &cq));
    accepts.vi = create_vi(&server, NULL, cq);
    for (n = 0; n < 3; n++) {
        d[n] = descriptor(&server, n, 100 + (VIP_UINT32)n);
        OK(VipPostRecv(accepts.vi, d[n], server.handle));
    }
    waits.to = "a server";
    waits.vi = accepts.vi;
    CHECK(pthread_create(&waits.thread, NULL, run, (waits.make = wait_for_somebody, &waits)) == 0);
    child = ask_and_die(own_program);
    CHECK(pthread_join(waits.thread, NULL) == 0);
    OK(waits.answer);
    CHECK(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
    accepts.connection = waits.connection;
    /* Nobody says any more that it is ready; but a viad says for its client that it has died. */
    accepts.make = accept_it;
    accepts.has_ended = 0;
    CHECK(pthread_create(&accepts.thread, NULL, run, &accepts) == 0);
    usleep(200000);
    has_ended = accepts.has_ended;
    OK(VipDisconnect(accepts.vi));
    answer = ended(&accepts);
    CHECK(has_ended ? answer != VIP_SUCCESS : answer == VIP_INVALID_STATE);
    CHECK(state_of(accepts.vi) == VIP_STATE_IDLE);
    IS(VipRecvDone(accepts.vi, &done), VIP_NOT_DONE);
    IS(VipCQDone(cq, &vi, &receive), VIP_NOT_DONE);
    /* The next client's messages find them, in their order. */
    begin(&client, "nic1");
    there = accepts.vi;
    here = create_vi(&client, NULL, NULL);
    OK(meet(there, here));
    for (n = 0; n < 3; n++) {
        s = descriptor(&client, n, 50);
        memset((char *)s + 64, 'a' + n, 50);
        OK(VipPostSend(here, s, client.handle));
        OK(VipSendWait(here, 5000, &s));
        OK(VipCQWait(cq, 5000, &vi, &receive));
        CHECK(vi == there && receive);
        OK(VipRecvDone(there, &done));
        CHECK(done == d[n] && done->CS.Length == 50 && ((char *)done)[64] == 'a' + n);
    }
    OK(VipDisconnect(here));
    OK(VipDisconnect(there));
    OK(VipDestroyVi(here));
    OK(VipDestroyVi(there));
    OK(VipDestroyCQ(cq));
    end_both();
}

/* ---- Peers -------------------------------------------------------------------------------------------------------- */

static void done_does_not_wait_behind_a_peer_wait_and_both_are_told(void)
{
    struct call waits;
    struct address own, to;
    VIP_VI_ATTRIBUTES remote;
    VIP_VI_HANDLE two;
    double begun;
    int n;
    begin_both();
    waits.vi = create_vi(&server, NULL, NULL);
    peer_request(waits.vi);
    start(&waits, peer_wait);
    begun = seconds();
    for (n = 0; n < 50; n++)
        IS(VipConnectPeerDone(waits.vi, &remote), VIP_NOT_DONE);
    CHECK(seconds() - begun < 0.5);
    two = create_vi(&client, NULL, NULL);
    address(&own, client.nic, "two");
    address(&to, server.nic, "one");
    OK(VipConnectPeerRequest(two, &own.head, &to.head, 20000));
    OK(VipConnectPeerWait(two, &remote));
    begun = seconds();
    while (!waits.has_ended && seconds() - begun < 5)
        usleep(1000);
    OK(ended(&waits));
    CHECK(state_of(waits.vi) == VIP_STATE_CONNECTED);
    OK(VipDisconnect(waits.vi));
    OK(VipDisconnect(two));
    OK(VipDestroyVi(waits.vi));
    OK(VipDestroyVi(two));
    end_both();
}

static const struct test tests[] = {
    TEST(a_disconnect_ends_a_request_under_way),
    TEST(a_disconnect_ends_a_peer_request),
    TEST(a_disconnect_beside_a_peer_request_comes_before_or_after_it),
    TEST(a_queue_that_is_destroyed_beside_a_request_leaves_none_under_way),
    TEST(a_disconnect_ends_an_accept_under_way),
    TEST(done_does_not_wait_behind_a_peer_wait_and_both_are_told),
};

static int run_all(void)
{
    size_t n;
    for (n = 0; n < sizeof(tests) / sizeof *(tests); n++) {
        test_name = tests[n].name;
        tests[n].run();
        printf("%s passed\n", test_name);
        fflush(stdout);
    }
    return 0;
}

int main(int count, char **arguments)
{
    own_program = arguments[0];
    if (count == 1)
        return run_all();
    /* The client that asks for ever. The server's NIC is another process's: its address is known. */
    {
        struct address own, to;
        VIP_VI_ATTRIBUTES remote;
        VIP_VI_HANDLE vi;
        test_name = "the client";
        begin(&client, "nic1");
        vi = create_vi(&client, NULL, NULL);
        address(&own, client.nic, "a client");
        to = own;
        to.head.HostAddress[5] = 1;
        memcpy(to.head.HostAddress + 6, "a server", 8);
        for (;;)
            VipConnectRequest(vi, &own.head, &to.head, VIP_INFINITE, &remote);
    }
}
