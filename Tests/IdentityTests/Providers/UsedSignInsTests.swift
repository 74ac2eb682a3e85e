import AdapterKit
import Identity
import Testing

@Suite struct UsedSignInsTests {
    private let start = UnixTime(seconds: 0)
    private let end = UnixTime(seconds: 600)
    private let here = ClientAddress("192.0.2.1")

    private func use(
        _ used: inout UsedSignIns, _ id: String, from address: ClientAddress, until end: UnixTime, now: UnixTime
    ) -> Bool {
        used.use(id, from: address, until: end, now: now)
    }

    @Test func `a pending sign-in is used once, until it has ended anyway`() {
        var used = UsedSignIns(capacity: 2)
        #expect(use(&used, "a", from: here, until: end, now: start))
        #expect(!use(&used, "a", from: here, until: end, now: start))
        #expect(use(&used, "b", from: here, until: end, now: start))
        #expect(use(&used, "c", from: here, until: end, now: end))
        #expect(used.count == 1)
    }

    @Test func `who fills the memory makes room by his own uses, not by others'`() {
        var used = UsedSignIns(capacity: 100)
        #expect(use(&used, "mine", from: here, until: end, now: start))
        let flood = ClientAddress("198.51.100.1")
        for number in 0..<1000 { #expect(use(&used, "f\(number)", from: flood, until: end, now: start)) }
        #expect(used.count <= 100)
        #expect(!use(&used, "mine", from: here, until: end, now: start))
    }
}
