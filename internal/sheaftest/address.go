package sheaftest

import (
	"slices"
	"strings"
)

// ForbiddenAddresses returns addresses that no delivery may reach unless the operator allows it, as
// literals of netip: the first, the last and some other addresses of every special block, and every
// form of IPv4 within IPv6.
func ForbiddenAddresses() []string { return slices.Clone(forbiddenAddresses) }

// ForbiddenHosts returns hosts that a subscription's url must not have, with a port where it
// matters: special addresses in every spelling, local names, and forms that programs read
// differently.
func ForbiddenHosts() []string { return slices.Clone(forbiddenHosts) }

var forbiddenAddresses = strings.Fields(`
	0.0.0.0 0.0.0.1 0.1.2.3 0.255.255.255
	10.0.0.0 10.0.0.1 10.1.2.3 10.255.255.255
	100.64.0.0 100.64.0.1 100.100.100.200 100.127.255.255
	127.0.0.0 127.0.0.1 127.0.0.2 127.0.1.1 127.1.2.3 127.255.255.255
	168.63.129.16
	169.254.0.0 169.254.0.1 169.254.169.253 169.254.169.254 169.254.170.2 169.254.255.255
	172.16.0.0 172.16.0.1 172.17.0.1 172.20.10.1 172.31.255.255
	192.0.0.0 192.0.0.1 192.0.0.8 192.0.0.9 192.0.0.10 192.0.0.170 192.0.0.171 192.0.0.192 192.0.0.255
	192.0.2.0 192.0.2.1 192.0.2.255
	192.31.196.0 192.31.196.255 192.52.193.0 192.52.193.255
	192.88.99.0 192.88.99.1 192.88.99.2 192.88.99.255
	192.168.0.0 192.168.0.1 192.168.1.1 192.168.255.255
	192.175.48.0 192.175.48.1 192.175.48.255
	198.18.0.0 198.18.0.1 198.19.255.255
	198.51.100.0 198.51.100.1 198.51.100.255
	203.0.113.0 203.0.113.1 203.0.113.255
	224.0.0.0 224.0.0.1 224.0.0.251 232.1.2.3 233.252.0.1 239.255.255.250 239.255.255.255
	240.0.0.0 240.0.0.1 250.1.2.3 255.255.255.254 255.255.255.255
	:: ::1 ::2 ::7f00:1 ::127.0.0.1 ::10.0.0.1 ::8.8.8.8 ::ffff
	::ffff:0.0.0.0 ::ffff:10.0.0.1 ::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:169.254.169.254 ::ffff:192.168.1.1
	::ffff:8.8.8.8 ::ffff:255.255.255.255
	::ffff:0:127.0.0.1 ::ffff:0:8.8.8.8
	64:ff9b:: 64:ff9b::1 64:ff9b::127.0.0.1 64:ff9b::10.0.0.1 64:ff9b::169.254.169.254 64:ff9b::8.8.8.8
	64:ff9b:1:: 64:ff9b:1::10.0.0.1 64:ff9b:1:ffff:ffff:ffff:ffff:ffff
	100:: 100::1 100:0:0:1::1 200::1 400::1 1000::1 1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
	2001:: 2001::1 2001:0:53aa:64c:0:7bff:f5ff:fffe 2001:1::1 2001:1::2 2001:1::3 2001:2::1 2001:3::1
	2001:4:112::1 2001:5::1 2001:10::1 2001:20::1 2001:2f:ffff::1 2001:30::1 2001:100::1
	2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff
	2001:db8:: 2001:db8::1 2001:db8:ffff:ffff:ffff:ffff:ffff:ffff
	2002:: 2002:7f00:1:: 2002:7f00:1::1 2002:a00:1:: 2002:c0a8:101::1 2002:a9fe:a9fe:: 2002:808:808::1
	2620:4f:8000:: 2620:4f:8000::1
	3fff:: 3fff::1 3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff
	4000:: 4000::1 5f00:: 5f00::1 6000::1 8000::1 a000::1 c000::1 e000::1
	fc00:: fc00::1 fd00::1 fd00:ec2::254 fd20:ce::254 fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
	fe00::1 fe80:: fe80::1 fe80::a9fe:a9fe febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff
	fec0:: fec0::1 feff::1
	ff00:: ff01::1 ff02::1 ff02::2 ff02::fb ff05::2 ff0e::1 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
	::1%lo fe80::1%eth0 fe80::1%1 ff02::1%eth0 2606:4700:4700::1111%eth0 ::ffff:127.0.0.1%lo ::ffff:8.8.8.8%lo
`)

var forbiddenHosts = []string{
	"127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0X7F000001", "0x7f.0.0.1", "0x7f.1", "017700000001",
	"0177.0.0.1", "0177.0x0.00.1", "127.0.0.1.", "127.1.", "0x7f000001.", "127.000.000.001", "00000000127.0.0.1",
	"0x00000000000000000000007f.1", "0x7f.0x0.0x0.0x1", "10.0.1", "10.1", "167772161", "0xa000001", "012.0.0.1",
	"0", "0x", "0x0", "00", "0.0.0.0", "0.0", "1", "169.254.169.254", "0xa9fea9fe", "2852039166", "0251.0376.0251.0376",
	"169.254.43518", "192.168.1", "172.16.1", "100.64.1", "255.255.255.255", "4294967295", "224.1", "168.63.129.16",
	"①②⑦.⓪.⓪.①", "127。0。0。1", "127．0．0．1", "127｡0｡0｡1", "１２７.0.0.1", "１２７．１", "０x7f.1", "0ｘ7f000001", "²130706433",
	"１０.0.0.1", "𝟏𝟐𝟕.𝟎.𝟎.𝟏", "127.0.0.①", "①0.0.0.1",
	"localhost", "LOCALHOST", "localhost.", "foo.localhost", "a.b.localhost", "foo.LocalHost.", "ⓛocalhost",
	"ｌｏｃａｌｈｏｓｔ", "localhoſt", "foo。localhost",
	"[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::FFFF:10.0.0.1]",
	"[0:0:0:0:0:ffff:7f00:1]", "[::127.0.0.1]", "[::ffff:8.8.8.8]", "[64:ff9b::10.0.0.1]", "[64:ff9b:1::1]",
	"[2002:7f00:1::]", "[2001::1]", "[2001:db8::1]", "[fd00:ec2::254]", "[fe80::1]", "[ff02::1]", "[3fff::1]",
	"[fe80::1%25lo]", "[::1%25lo]", "[fe80::1%lo]", "[2606:4700::1%25eth0]",
	"[127.0.0.1]", "[8.8.8.8]", "[::1]x", "[::1", "::1]", "::1", "[]", "[localhost]", "x[::1]", "[[::1]]", "[v1.x]", "[::1]]",
	"256.256.256.256", "1.2.3.4.5", "127.0.0.1.5", "08.8.8.8", "0x7g.1", "1.2.3.256", "example.1", "example.0x1f", "a.0x",
	"foo.123", "4294967296", "99999999999999999999999", "1..1", "127.0.0.1..", "1.2.3.-4.5",
	"0x08080808", "134744072", "8.8.2056", "010.8.8.8", "8.8.8.8.", // public addresses in a form that cannot be dialed
	"%31%32%37.0.0.1", "127%2e0.0.1", "%6cocalhost", "%EF%BC%91.1", "127.0.0.1%00.example.com", "127.0.0.1%0d%0aHost:x",
	"127.0.0.1%2f@x", "user@example.com", "user:pw@example.com", "@example.com", ":@example.com",
	"example.com@127.0.0.1", "127.0.0.1\\@x", "1.1.1.1 &@127.0.0.1", "127.0.0.1#@x", "127.0.0.1?@x",
	"exa mple.com", "example..com", ".example.com", ".", "..", "", ":443", "ex*mple.com", "exam!ple.com", "a,b.com", "a;b",
	"é\u200b.com", "exam\u00adple.com", "xn--a.é*", strings.Repeat("a", 64) + ".com",
	strings.Repeat("abcdefg.", 32) + "com", "⑩／８.com", "a．．b", "℀.com",
	"example.com:", "example.com:0", "example.com:00", "example.com:65536", "example.com:99999999999999999999",
	"example.com:-1", "example.com:+443", "example.com:4_4_3", "example.com:0x1bb", "example.com:https", "example.com:４４３",
	"example.com:443:443", "example.com:22", "example.com:23", "example.com:25", "example.com:110", "example.com:143",
	"example.com:465", "example.com:587", "example.com:993", "example.com:995", "example.com:0022", "8.8.8.8:25",
	"[2606:4700:4700::1111]:25", "[2606:4700:4700::1111]:", "[2606:4700:4700::1111]443",
}
