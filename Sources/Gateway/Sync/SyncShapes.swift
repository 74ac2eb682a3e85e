import AdapterKit
import HTTPTypes
import RecordStorage
import SyncMessages
import ValueTree

/// The messages as shapes: what descriptions show, and what texts of formats without numbers are read by. What is
/// allowed is said by the messages' own readers.
enum SyncShapes {
    private static let record = Shape.object(ObjectShape("Fields", isOpen: true, members: []))

    static let pull = ObjectShape(
        "Pull", isOpen: true,
        members: [
            Member("checkpoint", .string, summary: "Of the last page; left out at first."),
            Member("collections", .list(of: .string), summary: "Narrows to these."),
            Member("limit", .integer, summary: "Operations in one page at most."),
            Member("refetch", .list(of: .string), summary: "Scopes to be sent again from the beginning."),
            Member(
                "describe", .string,
                summary: "The description that the device has, or another text: asks for keys and fields."),
            Member("clientId", .string, summary: "The device, by the id that its pushes have."),
        ])

    private static let position = "How far the checkpoint reaches: the number of the last change of all records here."

    static let page = ObjectShape(
        "Page",
        members: [
            Member(
                "reset", .list(of: .string),
                summary: "Scopes of which the device forgets every record before it applies `operations`."),
            Member(
                "operations",
                .list(
                    of: .object(
                        ObjectShape(
                            "SyncOperation",
                            members: [
                                Member("collection", .string, isRequired: true),
                                Member("id", .string, isRequired: true), Member("rev", .integer, isRequired: true),
                                Member(
                                    "operation", .choice(["put", "remove"]), isRequired: true,
                                    summary: "`put`: the device has the record with these fields from now on. "
                                        + "`remove`: it has it no more."),
                                Member("fields", record),
                                Member("movedTo", .string, summary: "Of a remove: the id that the record has now."),
                            ]))), isRequired: true),
            Member(
                "next", .string,
                summary:
                    "There are more pages: sent as `checkpoint`, it gets the following one. Without it, `complete`."),
            Member(
                "complete", .object(completion),
                summary: "This page is the last one: the device stores what all pages brought, and the checkpoint."),
        ])

    private static let completion = ObjectShape(
        "Completion",
        members: [
            Member("checkpoint", .string, isRequired: true, summary: "Kept, and sent with the next pull."),
            Member("position", .integer, isRequired: true, summary: position),
            Member(
                "scopes",
                .list(
                    of: .object(
                        ObjectShape(
                            "ScopeSummary",
                            members: [
                                Member("scope", .string, isRequired: true),
                                Member("count", .integer, isRequired: true),
                                Member("checksum", .string, isRequired: true),
                                Member("key", .string, summary: "The field that holds the id."),
                                Member("fields", record, summary: "The type of each field, by its name."),
                                Member(
                                    "asOf", .string,
                                    summary: "When another system had the records, where they mirror one."),
                            ]))), isRequired: true),
            Member("description", .string, summary: "Names the keys and fields of all scopes together."),
        ])

    static let push = ObjectShape(
        "Push", isOpen: true,
        members: [
            Member(
                "clientId", .string(maximumLength: 64), isRequired: true,
                summary: "The device: made once at random, and used by one account."),
            Member("checkpoint", .string, summary: "The last one that the device applied."),
            Member("mutations", .list(of: .object(mutation)), isRequired: true),
        ])

    private static let mutation = ObjectShape(
        "Mutation", isOpen: true,
        members: [
            Member(
                "sequence", .integer, isRequired: true,
                summary: "The device's count of its changes, from 1: one that was made is not made again, and has the "
                    + "same outcome."),
            Member(
                "operation", .choice(["create", "update", "delete"]), isRequired: true,
                summary: "`update` names the fields that change."),
            Member("collection", .string, isRequired: true), Member("id", .string, isRequired: true),
            Member(
                "baseRev", .integer,
                summary: "The record's `rev` at the device when it was changed there; where others have changed the "
                    + "record since, it is `merged` or a `conflict`. Left out: whatever is there is changed."),
            Member("fields", record),
        ])

    private static let outcome =
        "`applied`: made. `merged`: made, together with what others have changed since `baseRev`. `conflict`: not made, "
        + "others have changed the record; the device shows `record`. `rejected`: not made, and never will be. "
        + "`retry`: not made now; the device sends it again."

    static let outcomes = ObjectShape(
        "Outcomes",
        members: [
            Member(
                "outcomes",
                .list(
                    of: .object(
                        ObjectShape(
                            "Outcome",
                            members: [
                                Member("sequence", .integer, isRequired: true),
                                Member(
                                    "outcome", .choice(["applied", "merged", "conflict", "rejected", "retry"]),
                                    isRequired: true, summary: outcome),
                                Member("rev", .integer, summary: "The record's revision now."),
                                Member("record", record, summary: "The server's copy: `id`, `rev`, `fields`."),
                                Member("reason", .string, summary: "The code of what was wrong."),
                                Member("message", .string),
                                Member("retryAfter", .integer, summary: "Seconds."),
                            ]))), isRequired: true),
            Member(
                "checkpoint", .string, isRequired: true, summary: "A pull that reaches it has these changes."),
            Member("position", .integer, isRequired: true, summary: position),
        ])
}

extension BodyReader {
    /// A message of the protocol and how its texts are to be understood; without a body, one without members.
    func message(_ request: AuthenticatedRequest, as shape: ObjectShape) async throws -> Body {
        let bytes = try await bytes(of: request.request, limit: nil)
        guard !bytes.isEmpty else { return Body(value: .dictionary([:]), coercion: .typed) }
        let body = try read(bytes, contentType: request.request.headers[.contentType])
        guard let members = body.value.dictionaryValue else {
            throw PorticoError(.requestInvalid, "The message is a dictionary of its members.")
        }
        // A list as XML, or text that is no form, reads as members of other names: to pass all of it over would answer
        // another question than was asked.
        guard members.isEmpty || shape.members.contains(where: { members[$0.name.text] != nil }) else {
            throw PorticoError(.requestInvalid, "None of the message's members is known.")
        }
        return Body(
            value: .dictionary(body.coercion.coerce(members, to: shape)), coercion: body.coercion, dates: body.dates)
    }
}

extension PorticoError {
    init(_ error: SyncMessageError) {
        self.init(.requestInvalid, "A message of the sync protocol is wrong: \(error).", target: error.member)
    }
}

/// Reads a message, and throws its reader's error as callers see it.
func readMessage<Message>(_ read: () throws(SyncMessageError) -> Message) throws(PorticoError) -> Message {
    do throws(SyncMessageError) { return try read() } catch { throw PorticoError(error) }
}
