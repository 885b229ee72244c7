"""Writes frames.txt: frames for `mac-echo`, made by Scapy, and the answers that Scapy would give.

Each line is a name, a frame and its answer in hexadecimal, or `-` where there is to be none. All are without FCS,
padded to 60 bytes. Run: python frames.py > frames.txt
"""

import random

from scapy.all import ARP, ICMP, IP, IPOption_RR, UDP, Dot1Q, Ether, IPv6, ICMPv6EchoRequest, Raw, fragment

random.seed(6)
US, OUR_IP = "02:00:5e:10:20:30", "192.168.1.50"
PEER, PEER_IP = "9c:eb:e8:01:02:03", "192.168.1.7"
ALL = "ff:ff:ff:ff:ff:ff"


def padded(frame):
    return bytes(frame).ljust(60, b"\0")


def line(name, question, answer=None):
    print(name, padded(question).hex(), padded(answer).hex() if answer is not None else "-")


def who_has(ip, dst=ALL, sender=PEER, **more):
    return Ether(src=PEER, dst=dst) / ARP(op=1, hwsrc=sender, psrc=PEER_IP, pdst=ip, **more)


is_at = Ether(src=US, dst=PEER) / ARP(op=2, hwsrc=US, psrc=OUR_IP, hwdst=PEER, pdst=PEER_IP)
line("arp", who_has(OUR_IP), is_at)
line("arp-unicast", who_has(OUR_IP, dst=US), is_at)
line("arp-other-address", who_has("192.168.1.51"))
line("arp-other-network", who_has("192.169.1.50"))
line("arp-reply", Ether(src=PEER, dst=US) / ARP(op=2, hwsrc=PEER, psrc=PEER_IP, hwdst=US, pdst=OUR_IP))
line("arp-for-another", who_has(OUR_IP, dst="02:00:5e:10:20:31"))
line("arp-of-another", who_has(OUR_IP, sender="9c:eb:e8:01:02:04"))
line("arp-token-ring", who_has(OUR_IP, hwtype=6))


def ping(size, src=PEER_IP, ttl=64, seq=1, eth=None, **more):
    data = bytes(random.randrange(256) for _ in range(size))
    eth = eth or Ether(src=PEER, dst=US)
    question = eth / IP(src=src, dst=OUR_IP, ttl=ttl, **more) / ICMP(type=8, id=0x1234 + size, seq=seq) / data
    reply = IP(src=OUR_IP, dst=src, ttl=64, **more) / ICMP(type=0, id=0x1234 + size, seq=seq) / data
    return question, Ether(src=US, dst=PEER) / reply


for size in [0, 1, 8, 17, 18, 19, 20, 56, 57, 100, 511, 1000, 1472, 4000, 4182]:
    line(f"ping-{size}", *ping(size, seq=size, id=random.randrange(65536)))
for n in range(40):
    src = ".".join(str(random.randrange(1, 255)) for _ in range(4))
    line(f"ping-random-{n}", *ping(random.randrange(64), src, random.randrange(1, 256), random.randrange(65536),
                                   id=random.randrange(65536), tos=random.randrange(256), flags=random.choice([0, 2])))

# Sums at their ends: 0x0000 and 0xffff are both nothing.
for want in [0x0000, 0x0001, 0xF7FE, 0xF7FF, 0xF800, 0xFFFE, 0x07FF, 0x0800]:
    words = 0x0800 + 0x1234 + 0x1122
    seq = (~want & 0xFFFF) - words % 0xFFFF
    question, answer = ping(0, seq=seq % 0xFFFF)
    question[ICMP].payload = answer[ICMP].payload = Raw(b"\x11\x22")
    assert want in (0, ICMP(bytes(question[ICMP])).chksum), hex(ICMP(bytes(question[ICMP])).chksum)
    line(f"ping-sum-{want:04x}", question, answer)

line("ping-other-address", Ether(src=PEER, dst=US) / IP(src=PEER_IP, dst="192.168.1.51") / ICMP())
line("ping-broadcast", Ether(src=PEER, dst=ALL) / IP(src=PEER_IP, dst=OUR_IP) / ICMP())
line("ping-for-another", Ether(src=PEER, dst="02:00:5e:10:20:31") / IP(src=PEER_IP, dst=OUR_IP) / ICMP())
line("ping-from-a-group", Ether(src="01:00:5e:00:00:01", dst=US) / IP(src=PEER_IP, dst=OUR_IP) / ICMP())
line("ping-reply", Ether(src=PEER, dst=US) / IP(src=PEER_IP, dst=OUR_IP) / ICMP(type=0))
line("timestamp", Ether(src=PEER, dst=US) / IP(src=PEER_IP, dst=OUR_IP) / ICMP(type=13))
line("udp", Ether(src=PEER, dst=US) / IP(src=PEER_IP, dst=OUR_IP) / UDP(sport=7, dport=7) / b"hello")
line("header-sum", ping(20, chksum=0xBEEF)[0])
line("options", Ether(src=PEER, dst=US) / IP(src=PEER_IP, dst=OUR_IP, options=[IPOption_RR()]) / ICMP())
for n, part in enumerate(fragment(IP(src=PEER_IP, dst=OUR_IP) / ICMP() / bytes(200), fragsize=104)):
    line(f"fragment-{n}", Ether(src=PEER, dst=US) / part)
line("too-long", Ether(src=PEER, dst=US) / IP(src=PEER_IP, dst=OUR_IP, len=90) / ICMP() / bytes(32))
line("very-long", Ether(src=PEER, dst=US) / IP(src=PEER_IP, dst=OUR_IP, len=65530) / ICMP() / bytes(32))
line("too-short", Ether(src=PEER, dst=US) / IP(src=PEER_IP, dst=OUR_IP, len=27) / ICMP() / bytes(32))
line("tagged", Ether(src=PEER, dst=US) / Dot1Q(vlan=5) / IP(src=PEER_IP, dst=OUR_IP) / ICMP())
line("ipv6", Ether(src=PEER, dst=US) / IPv6(src="fe80::1", dst="fe80::2") / ICMPv6EchoRequest())
