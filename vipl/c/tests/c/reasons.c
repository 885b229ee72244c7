/* Opens nic0, begins the name service, and asks for node1: 1, 2 or 3 where that fails. With an argument, it waits for the end of its input
 * before it ends.
 */
#include <stdio.h>
#include <string.h>

#include <vipl.h>

static void on_error(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error)
{
    (void)context;
    (void)error;
}

int main(int count, char **arguments)
{
    VIP_NIC_HANDLE nic;
    struct {
        VIP_NET_ADDRESS head;
        char more[40];
    } address;
    char name[] = "node1";
    memset(&address, 0, sizeof address);
    if (VipOpenNic("nic0", &nic) != VIP_SUCCESS)
        return 1;
    (void)arguments;
    if (count > 1) {
        VipErrorCallback(nic, NULL, on_error);
        puts("open");
        fflush(stdout);
        while (getchar() != EOF)
            continue;
        return 0;
    }
    if (VipNSInit(nic, NULL) != VIP_SUCCESS)
        return 2;
    if (VipNSGetHostByName(nic, name, &address.head, 0) != VIP_SUCCESS)
        return 3;
    return 0;
}
