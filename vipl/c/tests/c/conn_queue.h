/* What comes of connections that nobody waits for. */
#include <poll.h>
#include <vipl_ext.h>

#include "pair.h"

/* Who asks, of the last request. */
static struct address from;

static int is_readable(int fd)
{
    struct pollfd file;
    file.fd = fd;
    file.events = POLLIN;
    file.revents = 0;
    return poll(&file, 1, 60000) == 1;
}

/* The next event of a connection queue. */
static VIP_EXT_CONN_EVENT next_of(VIP_EXT_CONN_QUEUE_HANDLE queue)
{
    VIP_EXT_CONN_EVENT event;
    VIP_RETURN answer;
    int fd;
    OK(VipExtConnQueueFd(queue, &fd));
    while ((answer = VipExtConnQueueDone(queue, &event, &from.head)) == VIP_NOT_DONE) {
        OK(VipExtConnQueueArm(queue));
        answer = VipExtConnQueueDone(queue, &event, &from.head);
        if (answer != VIP_NOT_DONE)
            break;
        CHECK(is_readable(fd));
    }
    OK(answer);
    return event;
}
