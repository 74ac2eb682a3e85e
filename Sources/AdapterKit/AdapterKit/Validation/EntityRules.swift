/// What an entity's declaration demands of its records; the one place that fills in and refuses fields.
public struct EntityRules: Sendable {
    public let entity: Entity
    let key: Field

    /// Throws `server.internal` for a declaration that contradicts itself; the message says where.
    public init(_ entity: Entity) throws(PorticoError) {
        self.entity = entity
        self.key = try EntityDeclarationCheck(entity).run()
    }

    /// The key field's value for a record id; nil where no record can have that id (`abc` for an integer key).
    public func keyValue(of id: RecordID) -> WireValue? {
        switch key.shape {
        case .integer(let limits):
            guard let number = Int64(id.text), String(number) == id.text, limits.range.contains(number) else {
                return nil
            }
            return .int64(number)
        default:
            return (try? key.shape.check(.string(id.text), at: "")) == nil ? nil : .string(id.text)
        }
    }

    /// The record id for a key field's value. Throws `request.invalid` for a value that cannot be a key.
    public func id(ofKey value: WireValue) throws(PorticoError) -> RecordID {
        try key.shape.check(value, at: key.name.text)
        let text = value.int64Value.map { String($0) } ?? value.stringValue ?? ""
        guard let id = RecordID(text) else {
            throw PorticoError(
                .requestInvalid,
                "\(key.name) must have 1 to 255 bytes, no control characters, and neither U+FFFE nor U+FFFF.",
                target: key.name.text)
        }
        return id
    }
}

extension EntityRules {
    /// The id that the caller of a creation chose; nil leaves it to the server.
    func chosenID(_ id: RecordID?, in fields: WireDictionary) throws(PorticoError) -> RecordID? {
        if let id {
            try checkKey(in: fields, against: id)
            return id
        }
        guard entity.key.chooser != .server, let sent = fields[key.name.text], !sent.isNull else {
            if entity.key.chooser == .caller { throw missing(key) }
            return nil
        }
        return try self.id(ofKey: sent)
    }

    /// The body may repeat the id that the path names, but not another one.
    func checkKey(in fields: WireDictionary, against id: RecordID) throws(PorticoError) {
        guard keyValue(of: id) != nil else {
            throw PorticoError(
                .requestInvalid, "`\(id)` cannot be a key of \(entity.name).", target: key.name.text)
        }
        guard let sent = fields[key.name.text], !sent.isNull else { return }
        guard try self.id(ofKey: sent).text.hasSameBytes(as: id.text) else {
            throw PorticoError(
                .requestInvalid, "\(key.name) is not the id of the record that is changed.", target: key.name.text)
        }
    }

    func checkKnown(_ fields: WireDictionary) throws(PorticoError) {
        for entry in fields where !entity.fields.contains(where: { $0.name.text.hasSameBytes(as: entry.key) }) {
            let name = entry.key.carriedByEveryFormat
            throw PorticoError(.requestInvalid, "\(entity.name) has no field `\(name)`.", target: name)
        }
    }

    func missing(_ field: Field) -> PorticoError {
        PorticoError(.requestInvalid, "\(field.name) is missing.", target: field.name.text)
    }
}
