extension ObjectShape {
    func examine(_ value: WireDictionary) throws(Violation) {
        for member in members {
            guard let sent = value[member.name.text] else {
                if member.isRequired { throw Violation("is missing").below(member.name.text) }
                continue
            }
            if member.isNullable && sent.isNull { continue }
            do { try member.shape.examine(sent) } catch { throw error.below(member.name.text) }
        }
        if isOpen { try examineFurther(value) } else { try refuseUnknown(value) }
    }

    private func refuseUnknown(_ value: WireDictionary) throws(Violation) {
        // Every declared member was looked up already: equal counts of found ones mean that there is no other.
        for entry in value where member(entry.key) == nil {
            throw Violation("is not known here").below(entry.key.carriedByEveryFormat)
        }
    }

    private func examineFurther(_ value: WireDictionary) throws(Violation) {
        if members.isEmpty { return try WireValue.dictionary(value).examineCarried() }
        for entry in value where member(entry.key) == nil {
            do {
                try entry.key.examineCarried()
                try entry.value.examineCarried()
            } catch { throw error.below(entry.key.carriedByEveryFormat) }
        }
    }
}
