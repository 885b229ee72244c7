/* Opens nic0 twice, registers memory there and ends that registration, and closes both. */
#include <stdlib.h>
#include <string.h>

#include <vipl.h>

int main(void)
{
    VIP_NIC_HANDLE nics[2];
    VIP_PROTECTION_HANDLE tag;
    VIP_MEM_ATTRIBUTES attributes;
    VIP_MEM_HANDLE memory;
    char *bytes = malloc(4096);
    int n;
    for (n = 0; n < 2; n++)
        if (VipOpenNic("nic0", &nics[n]) != VIP_SUCCESS)
            return 1;
    if (VipCreatePtag(nics[0], &tag) != VIP_SUCCESS)
        return 2;
    memset(&attributes, 0, sizeof attributes);
    attributes.Ptag = tag;
    if (VipRegisterMem(nics[0], bytes, 4096, &attributes, &memory) != VIP_SUCCESS)
        return 3;
    if (VipDeregisterMem(nics[0], bytes, memory) != VIP_SUCCESS || VipDestroyPtag(nics[0], tag) != VIP_SUCCESS)
        return 4;
    for (n = 0; n < 2; n++)
        if (VipCloseNic(nics[n]) != VIP_SUCCESS)
            return 5;
    free(bytes);
    return 0;
}
