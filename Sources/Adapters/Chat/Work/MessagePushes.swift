import AdapterKit

/// Tells members' devices of new messages, whichever door a message came through: it is read from the log once it is
/// stored, so a push is sent after that and, since the place in the log is kept, also after a crash (then perhaps twice).
struct MessagePushes: Sendable {
    let context: AdapterContext
    let settings: ChatSettings

    /// Until it is cancelled.
    func run() async {
        guard !context.push.platforms.isEmpty else { return }
        var position = await PushProgress(context.records).read() ?? context.changeFeed.position
        while !Task.isCancelled {
            do {
                let new = try await context.changeFeed.created(in: Messages.entity.name, after: position)
                for message in new.records { await tell(message) }
                position = new.position
                if !new.records.isEmpty { try await PushProgress(context.records).keep(position) }
            } catch let error as PorticoError where error.code == .fetchAgain {
                position = context.changeFeed.position
            } catch {
                guard !Task.isCancelled else { return }
                context.log.warning("pushes are delayed", ["detail": .text("\(error)")])
                try? await Task.sleep(for: .seconds(1))
            }
        }
    }

    private func tell(_ message: Record) async {
        do {
            guard let id = message[Messages.room].stringValue.flatMap({ RecordID($0) }),
                let room = try await context.records.record(id, in: Rooms.entity.name)
            else { return }
            let note = PushNotification(message, in: room)
            let author = message[Messages.user].stringValue
            // Who has the room before their eyes needs no push.
            let here = Set(context.live.listeners(in: id, of: ChatFeed.name, limit: settings.maximumMembers))
            let names = room.names(Rooms.members).filter { $0 != author && !here.contains($0) }
            for group in names.chunks(of: Self.namesAtOnce) { try await tell(group, note) }
        } catch {
            context.log.warning("a push could not be prepared", ["detail": .text("\(error)")])
        }
    }

    private func tell(_ names: [String], _ note: PushNotification) async throws {
        let query = Query(.oneOf(Devices.user, names.map(WireValue.string)), limit: Self.namesAtOnce * Devices.maximum)
        let devices = try await context.records.query(query, in: Devices.entity.name).records
        for group in devices.chunks(of: settings.pushesAtOnce) {
            await withTaskGroup(of: Void.self) { tasks in
                for device in group { tasks.addTask { await send(note, to: device) } }
            }
        }
    }

    private func send(_ note: PushNotification, to device: Record) async {
        guard let platform = device[Devices.platform].stringValue.flatMap({ PushPlatform($0) }),
            context.push.platforms.contains(platform), let token = device[Devices.token].stringValue
        else { return }
        let delivery = await context.push.send(note, to: PushDevice(platform, token: Secret(token)))
        guard delivery == .deviceGone else { return }
        // Unless somebody registered it anew meanwhile.
        try? await context.records.delete(device.id, in: Devices.entity.name, if: .revision(device.revision))
    }

    /// A query's list of values has its limit too.
    private static let namesAtOnce = 100
}

extension PushNotification {
    fileprivate init(_ message: Record, in room: Record) {
        let author = message[Messages.user].stringValue ?? ""
        let text = message[Messages.text].stringValue ?? ""
        self.init(
            id: NoteID.text(of: message.id), title: room[Rooms.name].stringValue ?? "",
            body: "\(author): \(text.prefix(Limits.pushedText))", thread: room.id.text,
            data: ["room": .string(room.id.text), "message": .string(message.id.text)])
    }
}

/// A UUID that is always the same for one message (of RFC 9562's form 8: made up by ourselves).
enum NoteID {
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
