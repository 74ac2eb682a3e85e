import AdapterKit
import RecordStorage
import SyncMessages
import Synchronization

/// The sight of a device since the gateway started, for operators to look at; nothing goes by it.
struct DeviceSight: Sendable {
    /// When it last asked or sent something.
    var time: WireDate
    /// The position of the furthest pull that was complete, in a stream that has ended too; nil: none was.
    var pulled: Revision?
    /// The live streams that it has.
    var streams: [StreamSight] = []
    /// Its mutations' verdicts, counted.
    var outcomes: [MutationOutcome.Verdict: Int] = [:]

    /// The position up to which it has everything; nil: unknown.
    var position: Revision? { ([pulled] + streams.map(\.position)).compactMap(\.self).max() }

    mutating func reach(_ position: Revision?) {
        if let position { pulled = max(pulled ?? position, position) }
    }
}

/// The devices that were seen, by account and client id: at most ``capacity``, and ``perAccount`` of one account. Those
/// seen longest ago make room; a device that has a live stream does so last.
struct DeviceTable {
    struct Key: Hashable {
        let account: String
        let client: ClientID
    }

    let capacity: Int
    let perAccount: Int
    private(set) var accounts: [String: [ClientID: DeviceSight]] = [:]
    private var count = 0

    init(capacity: Int = 10_000, perAccount: Int = 100) {
        self.capacity = capacity
        self.perAccount = perAccount
    }

    subscript(key: Key) -> DeviceSight? { accounts[key.account]?[key.client] }

    mutating func see(_ key: Key, at time: WireDate, _ change: (inout DeviceSight) -> Void) {
        if self[key] == nil { makeRoom(for: key.account) }
        change(&accounts[key.account, default: [:]][key.client, default: DeviceSight(time: time)])
        accounts[key.account]?[key.client]?.time = time
    }

    private mutating func makeRoom(for account: String) {
        if let own = accounts[account], own.count >= perAccount {
            forgetOldest(of: [account: own])
        } else if count >= capacity {
            forgetOldest(of: accounts)
        }
        count += 1
    }

    private mutating func forgetOldest(of accounts: [String: [ClientID: DeviceSight]]) {
        let oldest = accounts.lazy.flatMap { account, devices in
            devices.lazy.map { (key: Key(account: account, client: $0.key), sight: $0.value) }
        }.min { one, other in
            (one.sight.streams.isEmpty ? 0 : 1, one.sight.time) < (
                other.sight.streams.isEmpty ? 0 : 1, other.sight.time
            )
        }
        guard let key = oldest?.key else { return }
        self.accounts[key.account]?[key.client] = nil
        if self.accounts[key.account]?.isEmpty == true { self.accounts[key.account] = nil }
        count -= 1
    }
}

/// ``DeviceTable`` across threads. Lives as long as the host runs, and forgets everything with it.
public final class SeenDevices: Sendable {
    /// Devices that have pushed, at most, whose outcomes are counted.
    private static let mostCounted = 10_000

    private let table: Mutex<DeviceTable>
    private let clock: any WallClock

    /// Has seen none.
    public init(clock: any WallClock) {
        table = Mutex(DeviceTable())
        self.clock = clock
    }

    /// Notes a request of the device, of what it says it is; nil, or what is no id of one, says nothing.
    func see(_ client: String?, of principal: Principal, _ change: (inout DeviceSight) -> Void = { _ in }) {
        guard let client = client.flatMap(ClientID.init) else { return }
        let now = clock.now()
        table.withLock { $0.see(DeviceTable.Key(account: principal.id, client: client), at: now, change) }
    }

    /// Notes a page that the device has pulled.
    func notePull(_ page: PullPage, for request: PullRequest, of principal: Principal) {
        let complete = page.completion.map { Revision($0.position) }
        see(request.clientID, of: principal) { $0.reach(complete) }
    }

    /// All sights. More than one account may have named the same device.
    var all: [DeviceTable.Key: DeviceSight] {
        var all: [DeviceTable.Key: DeviceSight] = [:]
        for (account, devices) in table.withLock({ $0.accounts }) {
            for (client, sight) in devices { all[DeviceTable.Key(account: account, client: client)] = sight }
        }
        return all
    }

    /// Devices that are known: those that have pushed, and those that were seen.
    public func count(in store: any Store) async throws -> Int {
        let pushed = try await store.withReadSnapshot { try $0.clients(after: nil, limit: Self.mostCounted) }
        return Set(all.keys).union(pushed.map { DeviceTable.Key(account: $0.identity, client: $0.id) }).count
    }

    subscript(key: DeviceTable.Key) -> DeviceSight? { table.withLock { $0[key] } }
}

/// A device's live stream, from its first page to its end.
final class StreamSight: Sendable {
    private let devices: SeenDevices
    private let client: String?
    private let principal: Principal
    /// 0: none.
    private let reachedNumber = Atomic<Int64>(0)
    private let hasEnded = Atomic(false)

    /// One that does not say whose it is (nil) is not shown.
    init(_ devices: SeenDevices, _ client: String?, of principal: Principal) {
        (self.devices, self.client, self.principal) = (devices, client, principal)
        devices.see(client, of: principal) { $0.streams.append(self) }
    }

    /// The position up to which it has sent everything; nil: nothing yet.
    var position: Revision? {
        let number = reachedNumber.load(ordering: .relaxed)
        return number > 0 ? Revision(number) : nil
    }

    /// It has everything up to here. With each event, so no lock is taken.
    func noteReached(_ position: Revision) { reachedNumber.store(position.number, ordering: .relaxed) }

    /// It has no stream any more. Counts once.
    func end() {
        guard !hasEnded.exchange(true, ordering: .relaxed) else { return }
        devices.see(client, of: principal) { device in
            device.streams.removeAll { $0 === self }
            device.reach(position)
        }
    }
}
