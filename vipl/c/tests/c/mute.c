/* A connection queue is destroyed while the viad of another NIC does not answer: mute.rs stops that of the client when this says so, and has it go on then.
 */
#include <vipl_ext.h>

#include "call.h"

static VIP_EXT_CONN_QUEUE_HANDLE queue;

static VIP_RETURN disconnect(struct call *call)
{
    return VipDisconnect(call->vi);
}

static VIP_RETURN destroy(struct call *call)
{
    (void)call;
    return VipExtDestroyConnQueue(queue);
}

/* Until mute.rs has done something. */
static void hear(void)
{
    char line;
    CHECK(read(0, &line, 1) == 1);
}

int main(void)
{
    struct call disconnects, destroys;
    test_name = "a viad that does not answer";
    begin_both();
    OK(VipExtCreateConnQueue(server.nic, &queue));
    disconnects.vi = create_vi(&client, NULL, NULL);
    say("ready\n");
    hear();
    start(&disconnects, disconnect);
    destroys.make = destroy;
    destroys.has_ended = 0;
    CHECK(pthread_create(&destroys.thread, NULL, run, &destroys) == 0);
    OK(ended_in(5, &destroys));
    CHECK(!disconnects.has_ended);
    say("destroyed\n");
    hear();
    OK(ended_in(20, &disconnects));
    OK(VipDestroyVi(disconnects.vi));
    end_both();
    say("ended\n");
    return 0;
}
