"""Recomputes the ICRC of every RoCEv2 frame of a capture with scapy's RoCE layer.

Prints one line a frame: its number (from 1), the ICRC it carries and the ICRC scapy computes, in hex.
"""

import sys

from scapy.contrib.roce import BTH
from scapy.layers.l2 import Ether
from scapy.packet import Padding
from scapy.utils import RawPcapNgReader, RawPcapReader, PcapReader


def main(path):
    number = 0
    with PcapReader(path) as frames:
        for frame in frames:
            number += 1
            if BTH not in frame:
                continue
            carried = frame[BTH].icrc
            # A field set to None is computed anew when the frame is built. What pads a short frame is
            # taken off: scapy would compute over it.
            again = frame.copy()
            if Padding in again:
                again[Padding].underlayer.remove_payload()
            again[BTH].icrc = None
            built = Ether(bytes(again))
            print(number, f"{carried:08x}", f"{built[BTH].icrc:08x}")


main(sys.argv[1])
