extension MirrorChange {
    /// The refusal of a change whose author names another state of the record than the other system has; nil: there is none.
    ///
    /// - Parameters:
    ///   - row: The record there.
    ///   - fields: Those of the entity. What the record does not have, or has with a value that does not fit, is not compared.
    public func refusal(
        over row: WireDictionary, _ fields: [Field], in upstream: UpstreamName
    ) -> MirrorWriteResult? {
        guard isConditional, let before else { return nil }
        let isSame = fields.allSatisfy { field in
            let name = field.name.text
            guard let value = row[name], !value.isNull || field.isNullable else { return true }
            let canonical = field.shape.canonical(value)
            guard canonical.isNull || (try? field.shape.check(canonical, at: name)) != nil else { return true }
            return canonical.meansTheSame(as: before[name] ?? .null)
        }
        return isSame ? nil : .outdated(upstream)
    }
}
