import AdapterKit
import WireFormats

extension ConnectedEntitySource {
    /// Makes a change in the system.
    ///
    /// An update that sends more than the fields that change begins with what the system has now: the fields are replaced
    /// in its own document, where that can be written, and its other members are kept. So does a change whose author names
    /// the state of the record, and the `ETag` of that answer is the condition of the change.
    ///
    /// Where records have owners, every change begins so: whose the record is, is known here as of the last refresh.
    func write(_ change: MirrorChange) async throws -> MirrorWriteResult {
        if let refusal = connected.refusal(
            of: change.operation, change.fields, over: change.before, isNew: change.isNew)
        {
            return .refused(refusal.code, refusal.message)
        }
        guard let template = connected.write?.template(change.operation, isNew: change.isNew) else {
            return .refused(.requestInvalid, "The system \(upstream.name) takes no such change.")
        }
        var known: CurrentRecord?
        let isRead = connected.owner != nil || template.isWhole(change) || change.isConditional
        if let record = connected.record, isRead || (template.ifMatch && !change.isNew) {
            do { known = try await current(change.id, record) } catch {
                // Nothing of the change was sent.
                return .notMade("the record could not be read before the change: \(error)")
            }
            if let known, let refusal = refusal(of: change, over: known) { return refusal }
            if let known, let refusal = change.refusal(over: known.row, connected.entity.fields, in: upstream.name) {
                return refusal
            }
            switch known {
            case nil where change.operation == .delete: return .stored(nil)
            case nil where !change.isNew:
                return .refused(.recordNotFound, "The system \(upstream.name) has no such record.")
            case let known? where change.operation == .create:
                return change.isMade(in: known.row)
                    ? .stored(known.row)
                    : .refused(.recordConflict, "The system \(upstream.name) has such a record already.")
            default: break
            }
        }
        var request: UpstreamRequest
        do { request = try self.request(template, change, over: known) } catch let problem as Template.Problem {
            return .refused(.requestInvalid, problem.message)
        }
        request.fields["Idempotency-Key"] = change.idempotencyKey
        // A weak tag satisfies no If-Match (RFC 9110, section 13.1.1).
        if let tag = known?.tag, !tag.hasPrefix("W/") { request.fields["If-Match"] = tag }
        // Another caller's record that the last refresh did not see is not written over.
        if connected.owner != nil, known == nil, change.isNew, template.method == .put {
            request.fields["If-None-Match"] = "*"
        }
        request.isIdempotent = change.mayRepeat
        let response = try await upstream.send(request)
        if change.operation == .delete, response.status == 404 || response.status == 410 { return .stored(nil) }
        let result = MirrorWriteResult(response, to: change, of: upstream.name).quoting(response.errorText)
        if response.status == 412, let record = connected.record,
            let found = try? await current(change.id, record), change.isMade(in: found.row)
        {
            // It was sent twice, and made the first time.
            return .stored(found.row)
        }
        guard case .stored = result else { return result }
        // The body may say which key the system has given, and `Location` where it does not.
        let located = change.isNew && template.method == .post ? response.located.flatMap(key(of:)) : nil
        guard !response.body.isEmpty else { return .stored(located) }
        switch try storedResult(response, template, change) {
        case .stored(let row?) where mapping.id(of: row) == nil:
            guard let located else { return .stored(row) }
            return .stored(row.merging(located))
        case .stored(nil): return .stored(located)
        case let other: return other
        }
    }

    /// The fields that name the record of this id; nil where the key is a number and that is none.
    private func key(of id: RecordID) -> WireDictionary? {
        let named = key(id)
        return named.allSatisfy { !$0.value.isNull } ? named : nil
    }

    /// Why a change of this record is none that its owner makes; nil: it is.
    private func refusal(of change: MirrorChange, over known: CurrentRecord) -> MirrorWriteResult? {
        guard let owner = connected.owner?.text else { return nil }
        // Rules let a caller change only what has this owner here.
        let supposed = change.isNew ? change.fields[owner] : change.before?[owner]
        if let supposed, !supposed.isNull, supposed == known.row[owner] { return nil }
        return change.isNew
            ? .refused(.recordConflict, "The system \(upstream.name) has such a record already.")
            : .refused(.recordNotFound, "The system \(upstream.name) has no such record.")
    }

    private func request(
        _ template: RequestTemplate, _ change: MirrorChange, over known: CurrentRecord?
    ) throws -> UpstreamRequest {
        var fields = change.after ?? change.before ?? [:]
        if let known, change.operation == .update {
            for entry in known.row { fields[entry.key] = entry.value }
            for entry in change.fields { fields[entry.key] = entry.value }
        }
        for entry in key(change.id) { fields[entry.key] = entry.value }
        let changed = change.operation == .update ? Set(change.fields.keys.compactMap { FieldName($0) }) : nil
        let isSameFormat = template.body?.format.rawValue == mapping.format.rawValue
        return try template.request(
            of: upstream, TemplateValues(values: fields, mappings: mapping.fields), changed: changed,
            omitsNulls: change.isNew,
            over: template.method == .put && isSameFormat ? known?.document(for: template) : nil
        ).accepting(mapping.format, headers)
    }

    /// The record that a successful answer says was stored. A page that says 200 is no success.
    private func storedResult(
        _ response: UpstreamResponse, _ template: RequestTemplate, _ change: MirrorChange
    ) throws -> MirrorWriteResult {
        guard mapping.takes(response.fields["Content-Type"] ?? "") else {
            let isPage = (response.fields["Content-Type"] ?? "").lowercased().contains("html")
            return isPage ? .unknown("\(response.address.logged) answered a page") : .stored(nil)
        }
        do {
            let document = try mapping.read(response.body)
            if mapping.success != nil, (try? mapping.checkSuccess(document)) == nil {
                return MirrorWriteResult.refused(.requestInvalid, "The system \(upstream.name) refused the change.")
                    .quoting(response.errorText)
            }
            guard change.operation != .delete, let row = try item(document, template).map({ try mapping.row($0) })
            else { return .stored(nil) }
            // To what is posted the system may give a key of its own, whatever it was sent; otherwise an answer with another
            // one is of another record.
            let isGiven = !change.isNew || template.method != .post
            if isGiven, let id = mapping.id(of: row), id != change.id {
                return .unknown("the answer to the change has another record")
            }
            return .stored(row)
        } catch let refusal as MirrorRefusal {
            return .unknown(refusal.detail)
        }
    }
}

extension UpstreamResponse {
    /// The system's own words about what it refused; nil: it says nothing that can be shown.
    var errorText: String? { ErrorText.text(of: body, mediaType: fields["Content-Type"] ?? "") }

    /// The id at the end of `Location`; nil: there is none.
    fileprivate var located: RecordID? {
        guard let place = fields["Location"].flatMap(address.resolving), place.origin == address.origin,
            let last = place.path.split(separator: "/").last, let text = String(last).removingPercentEscapes
        else { return nil }
        return RecordID(text)
    }
}

extension String {
    /// Nil where an escape is none, or the bytes are no UTF-8.
    fileprivate var removingPercentEscapes: String? {
        var bytes: [UInt8] = []
        var rest = utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(Self.digit), let low = rest.popFirst().flatMap(Self.digit) else {
                return nil
            }
            bytes.append(UInt8(truncatingIfNeeded: high * 16 + low))
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> Int? { Character(UnicodeScalar(byte)).hexDigitValue }
}

extension WireDictionary {
    fileprivate func merging(_ other: WireDictionary) -> WireDictionary {
        var merged = self
        for member in other { merged[member.key] = member.value }
        return merged
    }
}

/// A record as the system has it.
struct CurrentRecord {
    /// As it stands in the answer.
    let item: WireValue
    let row: WireDictionary
    /// The answer's `ETag`.
    let tag: String?
    /// Where the record stands in the answer.
    let place: DocumentPath

    /// The document that a body replaces: with the members around the record where the body has them too.
    fileprivate func document(for template: RequestTemplate) -> WireValue {
        guard let content = template.body?.content, content.hasMember(at: place.tokens[...]) else { return item }
        return place.tokens.reversed().reduce(item) { inner, name in [name: inner] }
    }
}

extension BodyTemplate.Content {
    fileprivate func hasMember(at place: ArraySlice<String>) -> Bool {
        guard let name = place.first else { return true }
        guard case .members(let members) = self, let member = members.first(where: { $0.name == name }) else {
            return false
        }
        return member.content.hasMember(at: place.dropFirst())
    }
}

extension MirrorChange {
    fileprivate var isNew: Bool { operation == .create || (operation == .replace && before == nil) }

    /// Whether the system has every field as the change wants it.
    fileprivate func isMade(in row: WireDictionary) -> Bool {
        fields.allSatisfy { (row[$0.key] ?? .null) == $0.value }
    }
}

extension RequestTemplate {
    /// Whether it sends fields that the change says nothing about.
    fileprivate func isWhole(_ change: MirrorChange) -> Bool {
        guard body != nil, change.operation != .delete else { return false }
        return change.isNew ? method == .put : !changedOnly
    }
}

extension WriteTemplates {
    /// Nil: the system takes no such change.
    func template(_ kind: MirrorChange.Kind, isNew: Bool) -> RequestTemplate? {
        switch kind {
        case .create: create ?? putting
        case .update: update
        case .replace: isNew ? create ?? putting : update
        case .delete: delete
        }
    }
}

extension RequestTemplate {
    /// The fields that it sends.
    var fields: Set<FieldName> {
        Set(address.fields + query.flatMap(\.value.fields) + (body?.fields ?? []))
    }
}

extension ConnectedEntity {
    /// The field that names whose a record is; nil: records have no owners.
    var owner: FieldName? { if case .owner(let field) = entity.rows.write { field } else { nil } }

    /// Why a change cannot be made in the system whatever that answers: no request is described, or none that sends a field
    /// that changes. Nil: it can be sent.
    func refusal(
        of kind: MirrorChange.Kind, _ fields: WireDictionary, over before: WireDictionary?, isNew: Bool
    ) -> PorticoError? {
        guard let template = write?.template(kind, isNew: isNew) else {
            let verb = kind == .delete ? "deleted" : isNew ? "created" : "changed"
            return PorticoError(.requestInvalid, "Records of \(name) cannot be \(verb).")
        }
        guard kind != .delete else { return nil }
        let sent = template.fields
        for field in entity.fields where field.name != entity.key.field && !sent.contains(field.name) {
            if kind == .update, fields[field.name.text] == nil { continue }
            let value = field.shape.canonical(fields[field.name.text] ?? .null)
            guard value != before?[field.name.text] ?? .null else { continue }
            return PorticoError(
                .requestInvalid, "\(field.name) cannot be \(isNew ? "given" : "changed") in \(name).",
                target: field.name.text)
        }
        for field in rows.fields where field.type == .date(.day) && sent.contains(field.name) {
            guard let instant = fields[field.name.text]?.dateValue, !instant.isMidnight,
                before?[field.name.text] != .date(instant)
            else { continue }
            return PorticoError(
                .requestInvalid, "\(field.name) is a day in \(name): an instant at 00:00:00Z.", target: field.name.text)
        }
        return nil
    }
}

/// Refuses a change that no request of the connection file can make, before it is stored.
struct ConnectedRules: RecordRules {
    let entities: [ConnectedEntity]

    func prepare(_ change: RecordChange, of record: Record?, in writing: RecordRuleContext) throws -> PreparedChange {
        if let connected = entities.first(where: { $0.name == change.entity }), connected.write != nil,
            let refusal = connected.refusal(
                of: change.kind, change.fields, over: record?.fields, isNew: record == nil)
        {
            throw refusal
        }
        return PreparedChange(change)
    }

    func verify(_ record: Record, of entity: EntityName, in writing: RecordRuleContext) {}
}

extension RecordChange {
    fileprivate var kind: MirrorChange.Kind {
        switch action {
        case .create: .create
        case .update: .update
        case .replace: .replace
        case .delete: .delete
        }
    }
}
