/* A thread waits for the agent, which does not answer. What needs no agent goes on: another thread posts sends. (The post of a receive
 * waits until the NIC has its doorbell.) The test stops viad when this program says "ready", and lets it go on when it says "posted".
 */
#include <pthread.h>
#include <sys/syscall.h>

#include "check.h"

#define POSTS 8

static struct world world;
/* The thread that waits, once it has said so. */
static volatile long waiting;

/* Whether that thread sleeps: proc(5), the third field of stat. */
static int sleeps(void)
{
    char path[64], stat[512];
    char *state;
    FILE *file;
    sprintf(path, "/proc/self/task/%ld/stat", waiting);
    file = fopen(path, "r");
    CHECK(file != NULL && fgets(stat, sizeof stat, file) != NULL);
    CHECK(fclose(file) == 0);
    state = strrchr(stat, ')');
    CHECK(state != NULL);
    return state[2] == 'S';
}

static void *set_attributes(void *unused)
{
    VIP_MEM_ATTRIBUTES attributes;
    (void)unused;
    OK(VipQueryMem(world.nic, world.memory, world.handle, &attributes));
    attributes.EnableRdmaRead = VIP_FALSE;
    say("setting\n");
    waiting = syscall(SYS_gettid);
    OK(VipSetMemAttributes(world.nic, world.memory, world.handle, &attributes));
    say("set\n");
    return NULL;
}

int main(void)
{
    pthread_t thread;
    VIP_VI_HANDLE vi;
    VIP_DESCRIPTOR *d;
    char go;
    int n;
    test_name = "convoy";
    begin(&world, "nic0");
    vi = create_vi(&world, NULL, NULL);
    say("ready\n");
    CHECK(read(0, &go, 1) == 1);
    CHECK(pthread_create(&thread, NULL, set_attributes, NULL) == 0);
    while (waiting == 0 || !sleeps())
        usleep(1000);
    for (n = 0; n < POSTS; n++)
        OK(VipPostSend(vi, descriptor(&world, n, 64), world.handle));
    say("posted\n");
    CHECK(pthread_join(thread, NULL) == 0);
    for (n = 0; n < POSTS; n++)
        IS(VipSendWait(vi, 5000, &d), VIP_DESCRIPTOR_ERROR);
    OK(VipDestroyVi(vi));
    end(&world);
    say("over\n");
    return 0;
}
