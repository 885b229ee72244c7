/* `names NIC HOST` asks the name service of a NIC for a host, and for the name of what it answers. */
#include <stdio.h>
#include <string.h>

#include <vipl.h>

int main(int count, char **arguments)
{
    VIP_NIC_HANDLE nic;
    struct {
        VIP_NET_ADDRESS head;
        char more[40];
    } address;
    char name[64];
    VIP_ULONG length = sizeof name;
    if (count != 3 || VipOpenNic(arguments[1], &nic) != VIP_SUCCESS)
        return 2;
    if (VipNSInit(nic, NULL) != VIP_SUCCESS) {
        printf("no name service\n");
        return VipCloseNic(nic) != VIP_SUCCESS;
    }
    memset(&address, 0, sizeof address);
    if (VipNSGetHostByName(nic, arguments[2], &address.head, 0) != VIP_SUCCESS)
        printf("nobody\n");
    else if (VipNSGetHostByAddr(nic, &address.head, name, &length) != VIP_SUCCESS)
        printf("success, and no name\n");
    else
        printf("success %d %s\n", address.head.HostAddress[5], name);
    return VipNSShutdown(nic) != VIP_SUCCESS || VipCloseNic(nic) != VIP_SUCCESS;
}
