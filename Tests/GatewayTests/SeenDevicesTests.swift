import AdapterKit
import RecordStorage
import Testing

@testable import Gateway

@Suite struct SeenDevicesTests {
    private static func key(_ account: String, _ client: String) -> DeviceTable.Key {
        DeviceTable.Key(account: account, client: ClientID(unchecked: client))
    }

    private static func time(_ seconds: Int64) -> WireDate { WireDate(secondsSinceReferenceDate: Double(seconds)) }

    private let clock = FixedTime()

    private static func keys(_ table: DeviceTable) -> Set<DeviceTable.Key> {
        Set(
            table.accounts.flatMap { account, devices in
                devices.keys.map { DeviceTable.Key(account: account, client: $0) }
            })
    }

    private func stream() -> StreamSight { StreamSight(SeenDevices(clock: clock), "1", of: .anonymous) }

    @Test func `one account's devices make room for each other, the one seen longest ago first`() {
        var table = DeviceTable(capacity: 10, perAccount: 2)
        table.see(Self.key("a", "1"), at: Self.time(1)) { _ in }
        table.see(Self.key("a", "2"), at: Self.time(2)) { _ in }
        table.see(Self.key("b", "1"), at: Self.time(0)) { _ in }
        table.see(Self.key("a", "1"), at: Self.time(3)) { $0.reach(Revision(7)) }
        table.see(Self.key("a", "3"), at: Self.time(4)) { _ in }
        #expect(Self.keys(table) == [Self.key("a", "1"), Self.key("a", "3"), Self.key("b", "1")])
        #expect(table[Self.key("a", "1")]?.position == Revision(7))
        #expect(table[Self.key("a", "1")]?.time == Self.time(3))
    }

    @Test func `a full table forgets the device seen longest ago, and those that listen last`() {
        var table = DeviceTable(capacity: 2, perAccount: 2)
        table.see(Self.key("a", "1"), at: Self.time(1)) { $0.streams = [stream()] }
        table.see(Self.key("b", "1"), at: Self.time(2)) { _ in }
        table.see(Self.key("c", "1"), at: Self.time(3)) { _ in }
        #expect(Self.keys(table) == [Self.key("a", "1"), Self.key("c", "1")])
        table.see(Self.key("a", "1"), at: Self.time(4)) { $0.streams = [] }
        table.see(Self.key("c", "2"), at: Self.time(5)) { _ in }
        table.see(Self.key("c", "3"), at: Self.time(6)) { _ in }
        #expect(Self.keys(table) == [Self.key("c", "2"), Self.key("c", "3")])
    }

    @Test func `a device is as far as the furthest of its streams, after their ends too`() {
        let devices = SeenDevices(clock: clock)
        let streams = (0..<2).map { _ in StreamSight(devices, "1", of: .anonymous) }
        func seen() -> DeviceSight? { devices[DeviceTable.Key(account: Principal.anonymous.id, client: "1")] }
        #expect(seen()?.position == nil && seen()?.streams.count == 2)
        streams[0].noteReached(Revision(8))
        streams[1].noteReached(Revision(9))
        #expect(seen()?.position == Revision(9))
        for _ in 0..<2 { streams[1].end() }
        #expect(seen()?.position == Revision(9) && seen()?.streams.count == 1)
        streams[0].end()
        #expect(seen()?.position == Revision(9) && seen()?.streams.isEmpty == true)
    }

    @Test func `a page of devices has those between those that have pushed, and all after the last page`() {
        func pushed(_ id: String) -> PushClient {
            PushClient(id: ClientID(unchecked: id), identity: "a", lastSequence: 1, time: Self.time(0))
        }
        let seen = Dictionary(
            uniqueKeysWithValues: ["a1", "b1", "z"].map { (Self.key("a", $0), DeviceSight(time: Self.time(1))) })
        func page(_ pushed: [PushClient], after: String? = nil) -> [String] {
            ListedDevice.page(pushed, seen: seen, after: after.map(ClientID.init(unchecked:)), limit: 2)
                .map(\.key.client.text)
        }
        #expect(page([pushed("b"), pushed("c")]) == ["a1", "b"])
        #expect(page([pushed("b"), pushed("c")], after: "a1") == ["b", "b1"])
        #expect(page([pushed("c")], after: "b1") == ["c", "z"])
        #expect(page([], after: "c") == ["z"])
    }
}
