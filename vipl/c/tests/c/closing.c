/* NICs that are opened and closed while calls are under way. */
#include <sys/socket.h>
#include <sys/un.h>

#include "call.h"

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
    TEST(closing_a_nic_ends_every_call_under_way),
    TEST(a_client_that_asks_ends_when_its_nic_is_closed),
    TEST(a_nic_that_does_not_answer_keeps_nobody_from_another),
    TEST(opening_and_closing_in_many_threads_leaves_a_nic_that_works),
    TEST(what_is_made_while_a_nic_is_closed_does_not_stay),
};

MAIN(tests)
