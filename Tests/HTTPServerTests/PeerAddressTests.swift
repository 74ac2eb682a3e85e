import HTTPTypes
import IPAddresses
import Testing

@testable import HTTPServer

@Suite struct PeerAddressTests {
    private let addresses = PeerAddress(
        proxies: ["10.0.0.0/8", "192.0.2.7", "2001:db8::/33"].compactMap { AddressRange($0) })

    private func peer(at address: String, isProxy: Bool, _ fields: String...) -> String {
        var headers = HTTPFields()
        for field in fields { headers.append(HTTPField(name: .xForwardedFor, value: field)) }
        return addresses.peer(ConnectionPeer(address: address, isProxy: isProxy), headers)
    }

    @Test func nobodyButATrustedProxyIsBelieved() {
        #expect(peer(at: "203.0.113.9", isProxy: false, "198.51.100.1") == "203.0.113.9")
        #expect(peer(at: "10.1.1.1", isProxy: true, "198.51.100.1") == "198.51.100.1")
    }

    @Test func onlyTheWordOfTheLastUntrustedHopCounts() {
        #expect(peer(at: "10.1.1.1", isProxy: true, "1.2.3.4, 198.51.100.1, 10.9.9.9") == "198.51.100.1")
        #expect(peer(at: "10.1.1.1", isProxy: true, "1.2.3.4", "198.51.100.1,192.0.2.7") == "198.51.100.1")
        #expect(peer(at: "10.1.1.1", isProxy: true, "10.2.2.2") == "10.2.2.2")
    }

    @Test func whatIsNoAddressEndsTheList() {
        #expect(peer(at: "10.1.1.1", isProxy: true) == "10.1.1.1")
        #expect(peer(at: "10.1.1.1", isProxy: true, "unknown") == "10.1.1.1")
        #expect(peer(at: "10.1.1.1", isProxy: true, "1.2.3.4, nonsense, 10.2.2.2") == "10.2.2.2")
    }

    @Test func rangesHoldWhatTheirBitsSay() throws {
        func holds(_ range: String, _ address: String) throws -> Bool {
            try #require(AddressRange(range)).contains(try #require(IPAddress(address)))
        }
        #expect(try holds("10.0.0.0/8", "10.255.0.1"))
        #expect(try !holds("10.0.0.0/8", "11.0.0.1"))
        #expect(try holds("192.0.2.128/25", "192.0.2.200"))
        #expect(try !holds("192.0.2.128/25", "192.0.2.100"))
        #expect(try holds("2001:db8::/33", "2001:db8:7fff::1"))
        #expect(try !holds("2001:db8::/33", "2001:db8:8000::1"))
        #expect(try holds("0.0.0.0/0", "203.0.113.1"))
        #expect(try !holds("0.0.0.0/0", "2001:db8::1"))
    }

    @Test(arguments: ["", "10.0.0.0/33", "10.0.0/8", "example.org", "::/129", "10.0.0.0/", "10.0.0.0/-1"])
    func whatIsNoRangeIsRefused(text: String) {
        #expect(AddressRange(text) == nil)
    }
}
