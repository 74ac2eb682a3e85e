import AdapterKit

extension CopyManifest {
    /// As operators see a copy: for the admin socket and the command line.
    public func members(isVerified: Bool) -> WireDictionary {
        [
            "name": .string(name), "begun": .string(begun), "ended": .string(ended), "verified": .bool(isVerified),
            "version": .string(version), "epoch": .string(epoch), "position": .int64(position),
            "bytes": .int64(storeSize), "attachments": .int64(Int64(attachments)),
            "attachmentBytes": .int64(attachmentBytes),
            "adapters": .array(adapters.map { .string($0.name) }), "problem": .null,
        ]
    }
}
