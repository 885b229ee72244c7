/* Breaks what it has promised by VipExtSetThreadSafe: a post is interrupted, by a handler of a signal that posts to the same queue. */
#include <signal.h>
#include <sys/mman.h>
#include <vipl_ext.h>

#include "check.h"

static struct world world;
static VIP_VI_HANDLE vi;

static void on_fault(int number)
{
    (void)number;
    VipPostSend(vi, (VIP_DESCRIPTOR *)world.memory, world.handle);
    say("the second post has returned\n");
    _exit(1);
}

int main(void)
{
    begin(&world, "nic0");
    OK(VipExtSetThreadSafe(world.nic, VIP_FALSE));
    vi = create_vi(&world, NULL, NULL);
    CHECK(signal(SIGSEGV, on_fault) != SIG_ERR);
    /* The library looks at a descriptor while it has the queue. */
    CHECK(mprotect(world.memory + 4096, 4096, PROT_NONE) == 0);
    VipPostSend(vi, (VIP_DESCRIPTOR *)(world.memory + 4096), world.handle);
    say("the first post has returned\n");
    return 1;
}
