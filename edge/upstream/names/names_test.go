package names

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// A name with very many addresses has a bounded number of origins.
func TestManyAddresses(t *testing.T) {
	var all []netip.Addr
	for i := range 1000 {
		all = append(all, netip.AddrFrom4([4]byte{10, 1, byte(i / 250), byte(i % 250)}))
	}
	r := Resolver{Addresses: func(context.Context, string) ([]netip.Addr, error) { return all, nil }}
	found, err := (&Name{Host: "app"}).lookup(t.Context(), r)
	if err != nil || len(found) != Most {
		t.Errorf("%d, %v", len(found), err)
	}
}

// A DNS server on loopback answers as the system's resolver asks.
func TestServerOfNames(t *testing.T) {
	records := map[string][]dnsmessage.ResourceBody{
		"_app._tcp.example.test. SRV": {&dnsmessage.SRVResource{Priority: 1, Weight: 1, Port: 3000,
			Target: dnsmessage.MustNewName("a.example.test.")}},
		"a.example.test. A":    {&dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}}, &dnsmessage.AResource{A: [4]byte{127, 0, 0, 2}}},
		"a.example.test. AAAA": {&dnsmessage.AAAAResource{AAAA: netip.MustParseAddr("::1").As16()}},
	}
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pc.Close() })
	go serveDNS(pc, records)
	r := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", pc.LocalAddr().String())
	}}
	system := Resolver{
		Addresses: func(ctx context.Context, name string) ([]netip.Addr, error) {
			return r.LookupNetIP(ctx, "ip", name+".")
		},
		Servers: func(ctx context.Context, name string) ([]*net.SRV, error) {
			_, all, err := r.LookupSRV(ctx, "", "", name+".")
			return all, err
		}}
	found, err := (&Name{Host: "_app._tcp.example.test", Service: true}).lookup(t.Context(), system)
	var got []string
	for m := range found {
		got = append(got, m.At.String()+" of "+m.Host)
	}
	if err != nil || len(got) != 3 ||
		found[Member{netip.MustParseAddrPort("[::1]:3000"), "a.example.test:3000", 1}] != 1 {
		t.Errorf("%q, %v", got, err)
	}
}

// serveDNS answers questions by records.
func serveDNS(pc net.PacketConn, records map[string][]dnsmessage.ResourceBody) {
	buf := make([]byte, 512)
	for {
		n, from, err := pc.ReadFrom(buf)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buf[:n]) != nil || len(m.Questions) == 0 {
			continue
		}
		q := m.Questions[0]
		m.Response, m.Additionals = true, nil
		for _, body := range records[q.Name.String()+" "+strings.TrimPrefix(q.Type.String(), "Type")] {
			head := dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 1}
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: body})
		}
		if out, err := m.Pack(); err == nil {
			pc.WriteTo(out, from)
		}
	}
}
