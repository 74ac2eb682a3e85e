extension RecordID {
    /// The id of the record with this key: a text as it is, an integer's decimal text. Nil for a value that can be no key.
    public init?(key value: WireValue) {
        switch value {
        case .string(let text): self.init(text)
        case .int64(let number): self.init(unchecked: String(number))
        default: return nil
        }
    }
}
