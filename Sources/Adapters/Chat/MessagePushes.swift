import AdapterKit
import Synchronization

/// Pushes new messages to members' devices, whichever interface they were posted through. Messages are read from the
/// log, so a push follows the commit; the log position is kept, so pushes continue after a crash, possibly sending one
/// twice. Authors take turns (``PushTurns``), so that one whose devices are slow delays no other author's messages.
final class MessagePushes: Sendable {
    private let context: AdapterContext
    private let settings: ChatSettings
    private let turns = Mutex(PushTurns<Record>())

    init(context: AdapterContext, settings: ChatSettings) {
        self.context = context
        self.settings = settings
    }

    /// Until it is cancelled.
    func run() async {
        while context.push.platforms.isEmpty {
            guard await context.push.hasOtherPlatforms(than: []) else { return }
        }
        let start = await NotificationProgress(context.records).read() ?? context.changeFeed.position
        await withDiscardingTaskGroup { senders in
            var position = start
            while !Task.isCancelled {
                do {
                    let new = try await context.changeFeed.created(in: Messages.entity.name, after: position)
                    position = new.position
                    guard !context.push.platforms.isEmpty else { continue }
                    for _ in 0..<queue(new.records, upTo: position) { senders.addTask { await self.send() } }
                } catch let error as PorticoError where error.code == .fetchAgain {
                    position = context.changeFeed.position
                } catch {
                    guard !Task.isCancelled else { return }
                    context.log.warning("pushes are delayed", ["detail": .text("\(error)")])
                    try? await Task.sleep(for: .seconds(1))
                }
            }
        }
    }

    /// Queues the messages, and returns the number of senders that are to be started.
    private func queue(_ messages: [Record], upTo position: Revision) -> Int {
        let (senders, dropped) = turns.withLock { turns in
            let dropped = messages.reduce(into: 0) { count, message in
                let author = message[Messages.user].stringValue ?? ""
                if turns.append(message, of: author, at: message.revision) { count += 1 }
            }
            turns.noteReached(position)
            return (turns.takeSenders(), dropped)
        }
        if dropped > 0 {
            context.log.warning("pushes are left out: their author has too many waiting", ["messages": .count(dropped)])
        }
        return senders
    }

    /// Sends what waits, until nothing does.
    private func send() async {
        while !Task.isCancelled, let turn = turns.withLock({ $0.next() }) {
            await notify(turn.job)
            guard !Task.isCancelled, let position = turns.withLock({ $0.end(turn) }) else { continue }
            do {
                try await NotificationProgress(context.records).keep(position)
            } catch {
                context.log.warning("the progress of pushes is not kept", ["detail": .text("\(error)")])
            }
        }
    }

    private func notify(_ message: Record) async {
        do {
            guard let id = message[Messages.room].stringValue.flatMap({ RecordID($0) }),
                let room = try await context.records.record(id, in: Rooms.entity.name)
            else { return }
            let notification = PushNotification(message, in: room)
            let author = message[Messages.user].stringValue
            // Who has the room before their eyes needs no push.
            let here = Set(context.live.listeners(in: id, of: ChatLiveFeed.name, limit: settings.maximumMembers))
            let names = room.names(Rooms.members).filter { $0 != author && !here.contains($0) }
            for group in names.chunks(of: Self.namesAtOnce) { try await notify(group, notification) }
        } catch {
            context.log.warning("a push could not be prepared", ["detail": .text("\(error)")])
        }
    }

    private func notify(_ names: [String], _ notification: PushNotification) async throws {
        let query = Query(.oneOf(Devices.user, names.map(WireValue.string)), limit: Self.namesAtOnce * Devices.maximum)
        let devices = try await entitledDevices(try await context.records.query(query, in: Devices.entity.name).records)
        for group in devices.chunks(of: settings.pushesAtOnce) {
            await withTaskGroup(of: Void.self) { tasks in
                for device in group { tasks.addTask { await self.send(notification, to: device) } }
            }
        }
    }

    /// The devices of accounts that may read the chat now. Those of an earlier password or an ended session are removed.
    private func entitledDevices(_ devices: [Record]) async throws -> [Record] {
        var accounts: [String: AccountSummary] = [:]
        for name in Set(devices.compactMap { $0[Devices.user].stringValue }) {
            accounts[name] = try await context.accounts.account(named: name)
        }
        let readers = context.readers(Messages.entity.name)
        var entitled: [Record] = []
        for device in devices {
            guard let account = device[Devices.user].stringValue.flatMap({ accounts[$0] }),
                readers.decision(for: Principal(account)) == .allowed
            else { continue }
            if try await isRegistered(device, by: account) {
                entitled.append(device)
            } else {
                try await context.records.delete(device.id, in: Devices.entity.name, if: .revision(device.revision))
            }
        }
        return entitled
    }

    /// Whether the credential that registered the device still is the account's.
    private func isRegistered(_ device: Record, by account: AccountSummary) async throws -> Bool {
        let version = device[Devices.credentialVersion].int64Value ?? account.credentialVersion
        guard version == account.credentialVersion else { return false }
        guard let session = device[Devices.session].stringValue else { return true }
        return try await context.accounts.hasSession(session, of: account.id)
    }

    private func send(_ notification: PushNotification, to device: Record) async {
        guard let platform = device[Devices.platform].stringValue.flatMap({ PushPlatform($0) }),
            context.push.platforms.contains(platform), let token = device[Devices.token].stringValue
        else { return }
        let delivery = await context.push.send(notification, to: PushDevice(platform, token: Secret(token)))
        guard delivery == .deviceGone else { return }
        // Unless the device was registered anew meanwhile.
        try? await context.records.delete(device.id, in: Devices.entity.name, if: .revision(device.revision))
    }

    /// A query's list of values has its limit too.
    private static let namesAtOnce = 100
}

extension Principal {
    fileprivate init(_ account: AccountSummary) {
        self.init(
            kind: .user, id: account.id, name: account.name, displayName: account.displayName, roles: account.roles)
    }
}

extension PushNotification {
    fileprivate init(_ message: Record, in room: Record) {
        let author = message[Messages.user].stringValue ?? ""
        let text = message[Messages.text].stringValue ?? ""
        self.init(
            id: PushNotificationID.text(of: message.id), title: room[Rooms.name].stringValue ?? "",
            body: "\(author): \(text.prefix(ChatLimits.pushedText))", thread: room.id.text,
            data: ["room": .string(room.id.text), "message": .string(message.id.text)])
    }
}

/// A UUID that is always the same for one message (of RFC 9562's form 8: made up by ourselves).
enum PushNotificationID {
    static func text(of id: RecordID) -> String {
        var bytes = half(id.text.utf8, seed: 0xcbf2_9ce4_8422_2325) + half(id.text.utf8, seed: 0x9e37_79b9_7f4a_7c15)
        bytes[6] = bytes[6] & 0x0f | 0x80
        bytes[8] = bytes[8] & 0x3f | 0x80
        return Hexadecimal.uuid(bytes)
    }

    private static func half(_ text: String.UTF8View, seed: UInt64) -> [UInt8] {
        let hash = text.reduce(seed) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return (0..<8).map { UInt8(truncatingIfNeeded: hash >> ($0 * 8)) }
    }
}

extension Array {
    func chunks(of size: Int) -> [[Element]] {
        stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
    }
}

/// Up to which log position members' devices have been notified.
struct NotificationProgress: Sendable {
    static let entity = Entity(
        "pushProgress", summary: "Up to which position members' devices have been notified of messages.",
        key: EntityKey(id, chosenBy: .caller),
        fields: [
            Field(id, .string, source: .callerOnCreate), Field(position, .integer, isRequired: true),
        ], exposure: .adapterOnly)

    private static let id: FieldName = "id"
    private static let position: FieldName = "position"
    private static let only: RecordID = "messages"

    private let records: any RecordStore

    init(_ records: any RecordStore) {
        self.records = records
    }

    /// Nil where no device was notified yet, or the store cannot be read.
    func read() async -> Revision? {
        (try? await records.record(Self.only, in: Self.entity.name))?[Self.position].int64Value.map(Revision.init)
    }

    func keep(_ position: Revision) async throws {
        let fields: WireDictionary = ["id": .string(Self.only.text), "position": .int64(position.number)]
        _ = try await records.apply([
            RecordChange(Self.entity.name, .replace(Self.only, fields, orCreate: true))
        ])
    }
}
