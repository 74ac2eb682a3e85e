import AdapterKit
import WireFormats

/// A note as Apple's service takes it: at most 4,096 bytes of JSON.
struct APNsPayload {
    static let maximumBytes = 4_096

    private let note: PushNotification

    init(_ note: PushNotification) {
        self.note = note
    }

    /// With as much of the text as fits.
    func bytes() throws -> [UInt8] {
        var body = note.body
        while true {
            let bytes = try JSONFormat().write(value(body))
            guard bytes.count > Self.maximumBytes, !body.isEmpty else { return bytes }
            body = String(body.prefix(max(0, body.count - max(1, (bytes.count - Self.maximumBytes) / 4 + 1))))
        }
    }

    private func value(_ body: String) -> WireValue {
        var aps: WireDictionary = [
            "alert": ["title": .string(note.title), "body": .string(body)], "sound": "default",
        ]
        if let thread = note.thread { aps["thread-id"] = .string(thread) }
        var all = note.data
        all["aps"] = .dictionary(aps)
        return .dictionary(all)
    }
}
