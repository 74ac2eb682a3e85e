/// A record's fields as they will be written: checked, complete, in declared order.
public struct RecordDraft: Sendable, Equatable {
    /// Nil: the server has to choose one, see ``assigning(_:by:)``.
    public fileprivate(set) var id: RecordID?
    public fileprivate(set) var fields: WireDictionary

    /// The draft under an id that the server chose.
    public func assigning(_ id: RecordID, by rules: EntityRules) -> RecordDraft {
        var draft = self
        draft.id = id
        draft.fields[rules.key.name.text] = rules.keyValue(of: id) ?? .null
        return draft
    }
}

/// Who writes, and when: what the fields are filled from that the server gives.
public struct Authorship: Sendable, Equatable {
    public let author: String
    public let time: WireDate
    /// The operation id of the change.
    public let position: Revision

    public init(author: String, time: WireDate, position: Revision) {
        self.author = author
        self.time = time
        self.position = position
    }
}

// All throw `request.invalid`, and `request.limitExceeded` for a list that is too long, naming the field at fault. A null for a field that is neither required nor nullable means
// that the field is not given, so that a record can be sent back as it was read.
extension EntityRules {
    /// A new record.
    public func create(
        _ id: RecordID?, _ fields: WireDictionary, _ authorship: Authorship
    ) throws(PorticoError) -> RecordDraft {
        try checkKnown(fields)
        let id = try chosenID(id, in: fields)
        return try draft(id) { (field) throws(PorticoError) in
            switch field.source {
            case .creator: .string(authorship.author)
            case .createdAt, .modifiedAt: .date(authorship.time)
            case .createdPosition: .int64(authorship.position.number)
            case .caller, .callerOnCreate, .rules: try set(field, fields)
            }
        }
    }

    /// The record with the named fields changed.
    public func update(
        _ existing: Record, _ fields: WireDictionary, _ authorship: Authorship
    ) throws(PorticoError) -> RecordDraft {
        try checkKnown(fields)
        try checkKey(in: fields, against: existing.id)
        return try draft(existing.id) { (field) throws(PorticoError) in
            switch field.source {
            case .creator, .createdAt, .createdPosition: existing[field.name]
            case .modifiedAt: .date(authorship.time)
            case .callerOnCreate: try unchanged(field, existing, fields)
            case .caller, .rules:
                fields[field.name.text] == nil ? existing[field.name] : try set(field, fields, over: existing)
            }
        }
    }

    /// The record with every field set anew; who created it and when stays.
    public func replace(
        _ existing: Record, _ fields: WireDictionary, _ authorship: Authorship
    ) throws(PorticoError) -> RecordDraft {
        try checkKnown(fields)
        try checkKey(in: fields, against: existing.id)
        return try draft(existing.id) { (field) throws(PorticoError) in
            switch field.source {
            case .creator, .createdAt, .createdPosition: existing[field.name]
            case .modifiedAt: .date(authorship.time)
            case .callerOnCreate: try unchanged(field, existing, fields)
            case .caller, .rules: try set(field, fields, over: existing)
            }
        }
    }
}

extension EntityRules {
    private func draft(
        _ id: RecordID?, _ value: (Field) throws(PorticoError) -> WireValue
    ) throws(PorticoError) -> RecordDraft {
        var entries: [WireDictionary.Entry] = []
        entries.reserveCapacity(entity.fields.count)
        for field in entity.fields {
            let isKey = field.name == key.name
            let content = isKey ? id.flatMap { keyValue(of: $0) } ?? .null : try value(field)
            entries.append(WireDictionary.Entry(key: field.name.text, value: content))
        }
        return RecordDraft(id: id, fields: WireDictionary(uncheckedUniqueKeys: entries))
    }

    /// What the caller sends for a field, checked; nil where that is nothing.
    private func given(
        _ field: Field, _ fields: WireDictionary, over existing: Record? = nil
    ) throws(PorticoError) -> WireValue? {
        guard let sent = fields[field.name.text] else { return nil }
        if sent.isNull {
            if field.isNullable { return .null }
            if !field.isRequired { return nil }
        }
        try field.shape.check(sent, at: field.name.text)
        try checkCount(of: sent, field, over: existing)
        return field.shape.canonical(sent)
    }

    /// A list that was longer already, since the limit was another then, may become shorter.
    private func checkCount(of value: WireValue, _ field: Field, over existing: Record?) throws(PorticoError) {
        guard let most = field.maximumCount, let count = value.arrayValue?.count, count > most,
            count >= existing?[field.name].arrayValue?.count ?? 0
        else { return }
        throw PorticoError(
            .requestLimitExceeded, "\(field.name) has at most \(most) values.", target: field.name.text)
    }

    private func set(
        _ field: Field, _ fields: WireDictionary, over existing: Record? = nil
    ) throws(PorticoError) -> WireValue {
        if let value = try given(field, fields, over: existing) { return value }
        return try initial(field)
    }

    private func initial(_ field: Field) throws(PorticoError) -> WireValue {
        if let value = field.defaultValue { return field.shape.canonical(value) }
        guard !field.isRequired else { throw missing(field) }
        return .null
    }

    private func unchanged(
        _ field: Field, _ existing: Record, _ fields: WireDictionary
    ) throws(PorticoError) -> WireValue {
        let before = existing[field.name]
        guard let sent = try given(field, fields), sent != before else { return before }
        throw PorticoError(
            .requestInvalid, "\(field.name) cannot be changed once the record is there.", target: field.name.text)
    }
}
