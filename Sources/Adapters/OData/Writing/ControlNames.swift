import AdapterKit

/// How control information is named in bodies of OData 4.0: `@odata.type`, not `@type` (JSON Format 4.01, section 4.5).
enum ControlNames {
    /// Throws `request.invalid` for a name that means nothing in 4.0, at any depth; annotations have a dot in theirs.
    static func check(_ body: WireValue) throws(PorticoError) {
        for item in body.arrayValue ?? [] { try check(item) }
        for member in body.dictionaryValue ?? [:] {
            if let at = member.key.firstIndex(of: "@"), !member.key[at...].contains(".") {
                throw PorticoError(
                    .requestInvalid, "In OData 4.0 control information begins with @odata.", target: member.key)
            }
            try check(member.value)
        }
    }
}
