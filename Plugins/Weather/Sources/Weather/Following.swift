import AdapterKit

/// Following a region and leaving it.
///
/// The list of followers decides who reads, so callers do not write it. The operations do, each for its own caller.
enum Following: String, CaseIterable {
    case follow, unfollow

    static let maximumAttempts = 5

    private static let regionName = Shape.string(TextLimits(minimumLength: 1, maximumLength: 64))

    var operation: Operation {
        Operation(
            OperationName(unchecked: rawValue),
            summary: self == .follow ? "Follows the weather of a region." : "Follows it no longer.", effect: .writes,
            isIdempotent: true,
            input: ObjectShape("RegionName", members: [Member("region", Self.regionName, isRequired: true)]),
            output: .object(
                ObjectShape(
                    "FollowedRegion",
                    members: [
                        Member("region", .string, isRequired: true), Member("isFollowed", .bool, isRequired: true),
                    ])),
            // It changes a list that callers do not write, so it says itself who may.
            access: .login)
    }

    /// `records` are the adapter's own: the caller cannot see a region before following it.
    func run(_ call: Call, on records: any RecordStore) async throws -> WireValue {
        guard let region = RecordID(key: call["region"]) else { throw Self.unknownRegion }
        for _ in 0..<Self.maximumAttempts {
            if try await write(region, call.caller.name, on: records) {
                return ["region": .string(region.text), "isFollowed": .bool(self == .follow)]
            }
        }
        throw PorticoError(.recordConflict, "Too many follow this region at once; try again.", retryAfter: 1)
    }

    /// False where another request changed the region in between.
    private func write(_ id: RecordID, _ name: String, on records: any RecordStore) async throws -> Bool {
        let region = try await records.record(id, in: Region.entityName)
        let before = region?[Region.Fields.followers].arrayValue ?? []
        var after = before.filter { $0.stringValue != name }
        if self == .follow { after.append(.string(name)) }
        guard after.count <= Region.maximumFollowers else {
            throw PorticoError(.requestLimitExceeded, "Too many follow this region.", target: "region")
        }
        if region == nil {
            let here = Filter.compare(Observation.Fields.region, .equal, .string(id.text))
            guard try await records.count(here, in: Observation.entityName) > 0 else { throw Self.unknownRegion }
        }
        let fields: WireDictionary = [Region.Fields.followers.text: .array(after)]
        do {
            if let region {
                guard after != before else { return true }
                try await records.update(id, fields, in: Region.entityName, if: .revision(region.revision))
            } else if self == .follow {
                try await records.create(fields, id: id, in: Region.entityName)
            }
            return true
        } catch let error as PorticoError where [.preconditionFailed, .recordExists].contains(error.code) {
            return false
        }
    }

    private static let unknownRegion = PorticoError(
        .recordNotFound, "There is no such region.", target: "region")
}
