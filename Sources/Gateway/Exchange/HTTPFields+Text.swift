import HTTPTypes

extension HTTPFields {
    /// What `self[name]` says, without a new text where the field stands once, as nearly all do.
    func text(_ name: HTTPField.Name) -> String? {
        var found: String?
        for field in self where field.name == name {
            guard found == nil else { return self[name] }
            found = field.value
        }
        return found
    }

    /// What `self[name] = value` does. That builds an index by names first, which costs more than looking through the few
    /// fields that a response has.
    mutating func put(_ name: HTTPField.Name, _ value: String) {
        if contains(where: { $0.name == name }) {
            self[name] = value
        } else {
            append(HTTPField(name: name, value: value))
        }
    }
}
