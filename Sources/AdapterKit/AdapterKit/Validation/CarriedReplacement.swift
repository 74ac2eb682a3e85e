extension WireValue {
    /// The nearest value that every wire format carries: this one where it is such a value already.
    ///
    /// For values that were stored before what some format cannot carry was refused. In texts and keys U+FFFD takes a
    /// character's place; instants, decimals and infinities come to the end of what is carried. A NaN becomes a text, a
    /// keyed archiver's reference its number. A null in a list goes, as does what is nested too deep.
    public var carriedByEveryFormat: WireValue {
        (try? examineCarried()) == nil ? replacement(depth: 1) : self
    }

    fileprivate func replacement(depth: Int) -> WireValue {
        switch self {
        case .null, .bool, .int64, .uint64, .data: return self
        case .string(let text): return .string(text.carriedByEveryFormat)
        case .double(let number):
            if number.isNaN { return "NaN" }
            let most = Double.greatestFiniteMagnitude
            return .double(min(max(number, -most), most))
        case .decimal(let number): return .decimal(number.replacement)
        case .date(let instant): return .date(instant.replacement)
        case .uid(let number): return Int64(exactly: number).map(WireValue.int64) ?? .uint64(number)
        case .array(let items):
            guard depth <= CarriedValue.maximumDepth else { return .null }
            return .array(items.map { $0.replacement(depth: depth + 1) }.filter { !$0.isNull })
        case .dictionary(let members):
            guard depth <= CarriedValue.maximumDepth else { return .null }
            return .dictionary(members.replacement(depth: depth))
        }
    }
}

extension WireDictionary {
    fileprivate func replacement(depth: Int) -> WireDictionary {
        var replaced = WireDictionary()
        for member in self {
            var key = member.key.carriedByEveryFormat
            // Two keys may have become one; and a lone `CF$UID` would read as a reference in a property list.
            while replaced[key] != nil || (count == 1 && key.hasSameBytes(as: "CF$UID")) { key += "_" }
            replaced[key] = member.value.replacement(depth: depth + 1)
        }
        return replaced
    }
}
