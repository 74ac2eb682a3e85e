import AdapterKit
import HTTPTypes
import Identity
import NearestNames
import ValueTree

/// `porticoctl audit`.
struct AuditRoutes: Sendable {
    let accounts: AccountAdministration

    private static let anchored = ObjectShape("Verification", members: [Member("head", .string(maximumLength: 100))])
    private static let page = ObjectShape(
        "AuditPage",
        members: [
            Member("before", .integer), Member("limit", .integer(IntegerRange(1...1_000)), defaultValue: 100),
            Member("kind", .string(maximumLength: 64)),
            Member(
                "person", .string(maximumLength: 255),
                summary: "Who did it or to whom: an account's name, or another text."),
            Member("from", .date, summary: "Entries since then."),
            Member("until", .date, summary: "Entries before then."),
        ])

    func routes() -> [Route] {
        [
            Route(
                .post, "/admin/v1/audit/verify",
                accounts.endpoint("audit.verify", .read, "Checks the audit log.", Self.anchored) { _, input in
                    Self.value(try await administration.verifyAudit(anchor: try Self.anchor(input)))
                }),
            Route(
                .post, "/admin/v1/audit/entries",
                accounts.endpoint("audit.list", .read, "The latest audit entries.", Self.page) { _, input in
                    let entries = try await administration.auditEntries(
                        of: try await selection(input), before: input["before"]?.int64Value,
                        limit: Int(input["limit"]?.int64Value ?? 100))
                    return [
                        "entries": .array(entries.map(Self.value)),
                        "kinds": .array(AuditEvent.Kind.allCases.map { .string($0.rawValue) }),
                    ]
                }),
        ]
    }

    private var administration: Administration { accounts.identity.administration }

    private func selection(_ input: WireDictionary) async throws -> AuditSelection {
        var people = input["person"]?.stringValue.map { [$0] } ?? []
        if let name = people.first.flatMap({ AccountName($0) }),
            let account = try await administration.account(named: name)
        {
            people.append(account.id.text)
        }
        let kind = input["kind"]?.stringValue
        let kinds = AuditEvent.Kind.allCases.map(\.rawValue)
        if let kind, !kinds.contains(kind) {
            let near = NearestName.sentence(kind, among: kinds)
            throw PorticoError(
                .requestInvalid,
                "There are no entries of this kind.\(near) Kinds are \(kinds.joined(separator: ", ")).",
                target: "kind")
        }
        return AuditSelection(
            kind: kind, people: people, since: input["from"]?.dateValue,
            until: input["until"]?.dateValue)
    }

    private static func anchor(_ input: WireDictionary) throws(PorticoError) -> AuditHead? {
        guard let text = input["head"]?.stringValue else { return nil }
        guard let head = AuditHead(text) else {
            throw PorticoError(.requestInvalid, "This is no head of an audit log.", target: "head")
        }
        return head
    }

    private static func value(_ verdict: AuditVerdict) -> WireValue {
        switch verdict {
        case .intact(let head): ["intact": true, "entries": .int64(head.count), "head": .string(head.text)]
        case .broken(let number, let fault):
            ["intact": false, "entry": .int64(number), "fault": .string(fault.rawValue)]
        }
    }

    private static func value(_ entry: AuditEntry) -> WireValue {
        [
            "number": .int64(entry.number),
            "time": .date(WireDate(secondsSince1970: (Double(entry.milliseconds) / 1_000).rounded(.down))),
            "kind": .string(entry.kind), "actor": .string(entry.actor), "subject": .string(entry.subject),
            "address": .string(entry.address), "detail": .string(entry.detail),
        ]
    }
}
