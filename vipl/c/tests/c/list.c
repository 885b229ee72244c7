/* The NICs that a program may open. Beside VIPL. */
#include <vipl_ext.h>

#include "check.h"

static void nics_are_listed_by_their_aliases_with_what_is_known_of_them(void)
{
    VIP_EXT_NIC *nics;
    VIP_ULONG count = 0, room, n;
    VIP_NIC_HANDLE nic;
    int found = 0;
    IS(VipExtListNics(NULL, NULL), VIP_INVALID_PARAMETER);
    IS(VipExtListNics(NULL, &count), VIP_ERROR_RESOURCE);
    /* Two NICs, with four aliases each; and what this machine has. */
    CHECK(count >= 8);
    room = count;
    IS(VipExtListNics(NULL, &count), VIP_INVALID_PARAMETER);
    count = room - 1;
    nics = (VIP_EXT_NIC *)calloc(room, sizeof *nics);
    IS(VipExtListNics(nics, &count), VIP_ERROR_RESOURCE);
    CHECK(count == room && nics[0].State == 0);
    OK(VipExtListNics(nics, &count));
    for (n = 0; n < count; n++) {
        if (strcmp(nics[n].Name, "nic1") != 0)
            continue;
        found++;
        if (nics[n].State == VIP_EXT_NIC_SERVED) {
            CHECK(memcmp(nics[n].NicAddress, "\2\0\0\0\0\2", 6) == 0);
            CHECK(memcmp(nics[n].IpAddress, "\12\0\0\2", 4) == 0);
            CHECK(nics[n].MaxVI > 0 && nics[n].MaxCQ > 0 && nics[n].MaxTransferSize >= 32768);
        } else {
            /* Only who owns it knows more. */
            CHECK(nics[n].State == VIP_EXT_NIC_FREE && nics[n].NicAddress[5] == 0 && nics[n].MaxVI == 0);
        }
        OK(VipOpenNic(nics[n].Name, &nic));
        OK(VipCloseNic(nic));
    }
    CHECK(found == 1);
    free(nics);
}

static const struct test tests[] = {
    TEST(nics_are_listed_by_their_aliases_with_what_is_known_of_them),
};

MAIN(tests)
