/* `again NIC` opens a NIC, waits until its viad is gone, and opens the NIC again while the old handle is still there. */
#include <stdio.h>
#include <unistd.h>

#include <vipl.h>

#define PATIENCE 3000 /* times 10 ms */

int main(int count, char **arguments)
{
    VIP_NIC_HANDLE before, after;
    VIP_PROTECTION_HANDLE tag;
    int n;
    if (count != 2 || VipOpenNic(arguments[1], &before) != VIP_SUCCESS)
        return 2;
    printf("open\n");
    fflush(stdout);
    for (n = 0; VipCreatePtag(before, &tag) == VIP_SUCCESS; n++) {
        if (n == PATIENCE)
            return 3;
        VipDestroyPtag(before, tag);
        usleep(10000);
    }
    for (n = 0; VipOpenNic(arguments[1], &after) != VIP_SUCCESS; n++) {
        if (n == PATIENCE)
            return 4;
        usleep(10000);
    }
    if (VipCreatePtag(after, &tag) != VIP_SUCCESS || VipDestroyPtag(after, tag) != VIP_SUCCESS)
        return 5;
    if (VipCreatePtag(before, &tag) == VIP_SUCCESS)
        return 6;
    /* Closing the one that is gone leaves the other. */
    if (VipCloseNic(before) != VIP_SUCCESS || VipCreatePtag(after, &tag) != VIP_SUCCESS)
        return 7;
    printf("again\n");
    return VipDestroyPtag(after, tag) != VIP_SUCCESS || VipCloseNic(after) != VIP_SUCCESS;
}
