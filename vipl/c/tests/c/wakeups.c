/* Threads that wait, and what wakes them. */
#include <dirent.h>

#include "call.h"

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

static const struct test tests[] = {
    TEST(an_entry_that_the_library_makes_wakes_who_sleeps),
    TEST(a_handler_that_waits_sleeps_until_the_interrupt),
};

MAIN(tests)
