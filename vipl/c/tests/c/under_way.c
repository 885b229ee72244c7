/* Calls that are under way when something ends what they wait for, and threads that wait. */
#include <dirent.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "pair.h"

/* What a thread does, and what came of it. */
struct call {
    VIP_RETURN (*make)(struct call *call);
    VIP_VI_HANDLE vi;
    VIP_CQ_HANDLE cq;
    VIP_CONN_HANDLE connection;
    const char *to;
    pthread_t thread;
    volatile int has_ended;
    VIP_RETURN answer;
};

static void *run(void *argument)
{
    struct call *call = (struct call *)argument;
    call->answer = call->make(call);
    __sync_synchronize();
    call->has_ended = 1;
    return NULL;
}

/* Begins a call in a thread, and lets it get to where it waits. */
static void start(struct call *call, VIP_RETURN (*make)(struct call *))
{
    call->make = make;
    call->has_ended = 0;
    CHECK(pthread_create(&call->thread, NULL, run, call) == 0);
    usleep(200000);
    CHECK(!call->has_ended);
}

/* It ends by itself in a second. */
static VIP_RETURN ended(struct call *call)
{
    double begun = seconds();
    while (!call->has_ended && seconds() - begun < 1)
        usleep(1000);
    CHECK(call->has_ended);
    CHECK(pthread_join(call->thread, NULL) == 0);
    return call->answer;
}

static VIP_RETURN request(struct call *call)
{
    struct address own, to;
    VIP_VI_ATTRIBUTES remote;
    address(&own, client.nic, "a client");
    address(&to, server.nic, call->to);
    return VipConnectRequest(call->vi, &own.head, &to.head, VIP_INFINITE, &remote);
}

static VIP_RETURN wait_for_somebody(struct call *call)
{
    struct address own, from;
    VIP_VI_ATTRIBUTES remote;
    return VipConnectWait(server.nic, address(&own, server.nic, call->to), VIP_INFINITE, &from.head, &remote,
                          &call->connection);
}

static VIP_RETURN accept_it(struct call *call)
{
    return VipConnectAccept(call->connection, call->vi);
}

static VIP_RETURN peer_wait(struct call *call)
{
    VIP_VI_ATTRIBUTES remote;
    return VipConnectPeerWait(call->vi, &remote);
}

static VIP_RETURN recv_wait(struct call *call)
{
    VIP_DESCRIPTOR *d;
    return VipRecvWait(call->vi, VIP_INFINITE, &d);
}

static VIP_RETURN cq_wait(struct call *call)
{
    VIP_VI_HANDLE vi;
    VIP_BOOLEAN receive;
    return VipCQWait(call->cq, VIP_INFINITE, &vi, &receive);
}

static void peer_request(VIP_VI_HANDLE vi)
{
    struct address own, to;
    address(&own, server.nic, "one");
    address(&to, client.nic, "two");
    OK(VipConnectPeerRequest(vi, &own.head, &to.head, VIP_INFINITE));
}

/* A client asks, and whoever has heard it makes up his mind. */
static void begin_undecided(struct call *waits, struct call *asks)
{
    begin_both();
    waits->to = asks->to = "slow";
    start(waits, wait_for_somebody);
    asks->vi = create_vi(&client, NULL, NULL);
    start(asks, request);
    OK(ended(waits));
}

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

static void *disconnect_again_and_again(void *unused)
{
    int n, spins;
    (void)unused;
    for (n = 0; n < DUELS; n++) {
        pthread_barrier_wait(&together);
        /* Sooner or later in the other's call. */
        for (spins = 0; spins < n % 100 * 200; spins++)
            __sync_synchronize();
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

/* ---- Wake-ups ----------------------------------------------------------------------------------------------------- */

static void an_entry_that_the_library_makes_wakes_who_sleeps(void)
{
    struct call waits;
    VIP_DESCRIPTOR *d;
    int n;
    begin_both();
    OK(VipCreateCQ(server.nic, 64, &waits.cq));
    waits.vi = create_vi(&server, waits.cq, NULL);
    peer_request(waits.vi);
    for (n = 0; n < 5; n++) {
        double begun;
        start(&waits, cq_wait);
        begun = seconds();
        /* The VI is being connected: the NIC does not hear of it. */
        OK(VipPostSend(waits.vi, descriptor(&server, 0, 100), server.handle));
        OK(ended(&waits));
        CHECK(seconds() - begun < 0.3);
        IS(VipSendDone(waits.vi, &d), VIP_DESCRIPTOR_ERROR);
        CHECK(d != NULL && (d->CS.Status & VIP_STATUS_DESC_FLUSHED_ERROR));
    }
    OK(VipDisconnect(waits.vi));
    OK(VipDestroyVi(waits.vi));
    OK(VipDestroyCQ(waits.cq));
    end_both();
}

/* How often threads of this name have slept so far. */
static long sleeps(const char *name)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *task;
    long all = 0;
    int found = 0;
    CHECK(tasks != NULL);
    while ((task = readdir(tasks)) != NULL) {
        char path[300], line[100];
        FILE *file;
        int is_its = 0;
        sprintf(path, "/proc/self/task/%s/status", task->d_name);
        file = fopen(path, "r");
        while (file != NULL && fgets(line, sizeof line, file) != NULL) {
            long count;
            if (strncmp(line, "Name:", 5) == 0)
                is_its = strstr(line, name) != NULL;
            if (is_its && sscanf(line, "voluntary_ctxt_switches: %ld", &count) == 1) {
                all += count;
                found++;
            }
        }
        if (file != NULL)
            fclose(file);
    }
    closedir(tasks);
    CHECK(found == 1);
    return all;
}

static volatile int called;

static void on_entry(void *context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, VIP_BOOLEAN receive)
{
    (void)context;
    (void)nic;
    (void)vi;
    (void)receive;
    __sync_fetch_and_add(&called, 1);
}

static void on_descriptor(void *context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, VIP_DESCRIPTOR *d)
{
    (void)d;
    on_entry(context, nic, vi, 0);
}

static void a_handler_that_waits_sleeps_until_the_interrupt(void)
{
    struct world world;
    VIP_CQ_HANDLE cq;
    VIP_VI_HANDLE vi, alone;
    VIP_DESCRIPTOR *d;
    double begun;
    long before;
    begin(&world, "nic0");
    OK(VipCreateCQ(world.nic, 64, &cq));
    vi = create_vi(&world, cq, NULL);
    called = 0;
    OK(VipCQNotify(cq, NULL, on_entry));
    usleep(300000);
    before = sleeps("vipl-notify");
    usleep(2000000);
    /* Now and then it asks whether the device lives. */
    /* (A viad's answer is a sleep, too.) */
    CHECK(sleeps("vipl-notify") - before <= 32);
    begun = seconds();
    OK(VipPostSend(vi, descriptor(&world, 0, 100), world.handle));
    while (!called && seconds() - begun < 5)
        usleep(500);
    /* It looks by itself only after a second. */
    CHECK(called == 1 && seconds() - begun < 0.9);
    OK(VipSendDone(vi, &d) == VIP_DESCRIPTOR_ERROR ? VIP_SUCCESS : VIP_NOT_DONE);
    /* It has no say in when the queue goes. */
    begun = seconds();
    OK(VipCQNotify(cq, NULL, on_entry));
    OK(VipDestroyVi(vi));
    OK(VipDestroyCQ(cq));
    CHECK(seconds() - begun < 0.5);
    /* An empty work queue is not asked either, and a post is heard at once. */
    alone = create_vi(&world, NULL, NULL);
    OK(VipSendNotify(alone, NULL, on_descriptor));
    usleep(300000);
    before = sleeps("vipl-notify");
    usleep(1000000);
    CHECK(sleeps("vipl-notify") - before <= 1);
    begun = seconds();
    OK(VipPostSend(alone, descriptor(&world, 0, 100), world.handle));
    while (called < 2 && seconds() - begun < 5)
        usleep(500);
    CHECK(called == 2 && seconds() - begun < 0.9);
    OK(VipDestroyVi(alone));
    end(&world);
}

/* ---- Close -------------------------------------------------------------------------------------------------------- */

static void closing_a_nic_ends_every_call_under_way(void)
{
    struct call calls[6];
    int n;
    begin_both();
    memset(calls, 0, sizeof calls);
    OK(VipCreateCQ(server.nic, 64, &calls[0].cq));
    start(&calls[0], cq_wait);
    calls[1].vi = create_vi(&server, NULL, NULL);
    OK(VipPostRecv(calls[1].vi, descriptor(&server, 0, 64), server.handle));
    start(&calls[1], recv_wait);
    calls[2].vi = create_vi(&server, NULL, NULL);
    peer_request(calls[2].vi);
    start(&calls[2], peer_wait);
    calls[3].to = "nobody comes";
    start(&calls[3], wait_for_somebody);
    OK(VipCloseNic(server.nic));
    for (n = 0; n < 4; n++)
        CHECK(ended(&calls[n]) != VIP_SUCCESS);
    free(server.memory);
    end(&client);
}

static void a_client_that_asks_ends_when_its_nic_is_closed(void)
{
    struct call waits, asks;
    begin_undecided(&waits, &asks);
    OK(VipCloseNic(client.nic));
    CHECK(ended(&asks) != VIP_SUCCESS);
    free(client.memory);
    end(&server);
}

static VIP_RETURN open_it(struct call *call)
{
    VIP_NIC_HANDLE nic;
    return VipOpenNic(call->to, &nic);
}

static void a_nic_that_does_not_answer_keeps_nobody_from_another(void)
{
    struct call opens;
    struct sockaddr_un place;
    struct world world;
    char name[120];
    double begun;
    /* It takes what it is asked, and never answers. */
    int mute = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    memset(&place, 0, sizeof place);
    place.sun_family = AF_UNIX;
    sprintf(place.sun_path, "/tmp/vipl-mute-%d", (int)getpid());
    CHECK(mute >= 0 && bind(mute, (struct sockaddr *)&place, sizeof place) == 0 && listen(mute, 1) == 0);
    sprintf(name, "viad:%s", place.sun_path);
    opens.to = name;
    start(&opens, open_it);
    begun = seconds();
    begin(&world, "nic0");
    end(&world);
    CHECK(seconds() - begun < 5 && !opens.has_ended);
    /* It is gone. */
    CHECK(close(mute) == 0 && unlink(place.sun_path) == 0);
    CHECK(ended(&opens) != VIP_SUCCESS);
}

static volatile int errors_heard;

static void on_error(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error)
{
    (void)context;
    (void)error;
    __sync_fetch_and_add(&errors_heard, 1);
}

static void *open_and_close(void *argument)
{
    int n, rounds = *(int *)argument;
    for (n = 0; n < rounds; n++) {
        VIP_NIC_HANDLE nic;
        VIP_NIC_ATTRIBUTES is;
        VIP_PROTECTION_HANDLE ptag;
        OK(VipOpenNic("nic0", &nic));
        OK(VipCreatePtag(nic, &ptag));
        OK(VipQueryNic(nic, &is));
        OK(VipCloseNic(nic));
    }
    return NULL;
}

static void opening_and_closing_in_many_threads_leaves_a_nic_that_works(void)
{
    struct world world;
    VIP_PROTECTION_HANDLE other;
    VIP_MEM_ATTRIBUTES attributes;
    pthread_t threads[4];
    double begun;
    int n, rounds = 8;
    for (n = 0; n < 4; n++)
        CHECK(pthread_create(&threads[n], NULL, open_and_close, &rounds) == 0);
    for (n = 0; n < 4; n++)
        CHECK(pthread_join(threads[n], NULL) == 0);
    /* Opened while others closed it, it still hears of errors. */
    rounds = 1;
    CHECK(pthread_create(&threads[0], NULL, open_and_close, &rounds) == 0);
    begin(&world, "nic0");
    CHECK(pthread_join(threads[0], NULL) == 0);
    OK(VipErrorCallback(world.nic, NULL, on_error));
    OK(VipCreatePtag(world.nic, &other));
    attributes.Ptag = other;
    attributes.EnableRdmaWrite = attributes.EnableRdmaRead = VIP_FALSE;
    OK(VipSetMemAttributes(world.nic, world.memory, world.handle, &attributes));
    OK(VipPostRecv(create_vi(&world, NULL, NULL), descriptor(&world, 0, 64), world.handle));
    begun = seconds();
    while (!errors_heard && seconds() - begun < 5)
        usleep(1000);
    CHECK(errors_heard == 1);
    OK(VipCloseNic(world.nic));
    free(world.memory);
}

static VIP_NIC_HANDLE racing;

/* Makes things with a NIC that is being closed, until it is. */
static void *make_things(void *unused)
{
    VIP_RETURN answer;
    int made = 0;
    (void)unused;
    do {
        VIP_PROTECTION_HANDLE ptag;
        VIP_CQ_HANDLE cq;
        answer = VipCreatePtag(racing, &ptag);
        if (answer == VIP_SUCCESS)
            answer = VipCreateCQ(racing, 16, &cq);
        if (answer == VIP_SUCCESS)
            answer = VipDestroyCQ(cq);
        if (answer == VIP_SUCCESS)
            answer = VipDestroyPtag(racing, ptag);
        made++;
    } while (answer == VIP_SUCCESS);
    CHECK(answer == VIP_INVALID_PARAMETER);
    return NULL;
}

static void what_is_made_while_a_nic_is_closed_does_not_stay(void)
{
    pthread_t threads[3];
    int n, round;
    for (round = 0; round < 5; round++) {
        OK(VipOpenNic("nic0", &racing));
        for (n = 0; n < 3; n++)
            CHECK(pthread_create(&threads[n], NULL, make_things, NULL) == 0);
        usleep(20000 + 3000 * (useconds_t)round);
        OK(VipCloseNic(racing));
        for (n = 0; n < 3; n++)
            CHECK(pthread_join(threads[n], NULL) == 0);
    }
}

static const struct test tests[] = {
    TEST(a_disconnect_ends_a_request_under_way),
    TEST(a_disconnect_ends_a_peer_request),
    TEST(a_disconnect_beside_a_peer_request_comes_before_or_after_it),
    TEST(a_disconnect_ends_an_accept_under_way),
    TEST(done_does_not_wait_behind_a_peer_wait_and_both_are_told),
    TEST(an_entry_that_the_library_makes_wakes_who_sleeps),
    TEST(a_handler_that_waits_sleeps_until_the_interrupt),
    TEST(closing_a_nic_ends_every_call_under_way),
    TEST(a_client_that_asks_ends_when_its_nic_is_closed),
    TEST(a_nic_that_does_not_answer_keeps_nobody_from_another),
    TEST(opening_and_closing_in_many_threads_leaves_a_nic_that_works),
    TEST(what_is_made_while_a_nic_is_closed_does_not_stay),
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
