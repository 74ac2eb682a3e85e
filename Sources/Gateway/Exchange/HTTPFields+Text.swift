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
}
