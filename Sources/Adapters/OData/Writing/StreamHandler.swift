import AdapterKit
import ODataAddresses
import ODataRecords

/// Streams: of media entities (`$value`) and of stream properties (Protocol 4.01, sections 11.4.7 and 11.4.8).
struct StreamHandler: Sendable {
    /// Of bytes of which nobody said what they are.
    static let standardType = StoredContent.unknownType

    private let handler: ResourceHandler
    private var request: ServiceRequest { handler.request }

    init(_ handler: ResourceHandler) {
        self.handler = handler
    }

    func answer(_ place: EntityPlace, _ name: String) async throws -> MountResponse {
        guard let fields = place.table.streams[name] else {
            throw PorticoError(.recordNotFound, "There is no such stream.", target: name)
        }
        let record = try await handler.finder.found(place)
        switch request.method {
        case "GET": return read(record, fields, name)
        case "PUT": return try await write(record, place, fields, .data(request.body), .string(contentType))
        case "DELETE": return try await write(record, place, fields, .null, .null)
        default:
            throw ODataError.methodNotAllowed(
                "A stream is read, set and cleared.", allowed: "GET, HEAD, PUT, DELETE, OPTIONS")
        }
    }

    private var contentType: String { request.headers["Content-Type"] ?? Self.standardType }

    private func read(_ record: Record, _ fields: StreamFields, _ name: String) -> MountResponse {
        let tag = EntityTag.text(record.revision)
        guard let bytes = record[fields.content].dataValue else {
            return handler.answers.nothing(headers: ["ETag": tag])
        }
        let content = StoredContent(record[fields.mediaType].stringValue)
        let headers: MountHeaders = ["ETag": tag]
        if let field = request.headers["If-None-Match"], EntityReading.matches(field, tag) {
            return handler.answers.nothing(304, headers: headers.replacing(content.protection))
        }
        return handler.answers.stored(bytes, content, headers: headers)
    }

    private func write(
        _ record: Record, _ place: EntityPlace, _ fields: StreamFields, _ content: WireValue, _ type: WireValue
    ) async throws -> MountResponse {
        try handler.capable(place.table, .update)
        try WriteConditions(request.headers).check(record)
        var changes = ChangeSet()
        changes.add(
            RecordChange(
                place.table.entity,
                .update(record.id, [fields.content.text: content, fields.mediaType.text: type]),
                if: .revision(record.revision)))
        try await EntityWriting(handler).apply(changes)
        return handler.answers.nothing()
    }
}
