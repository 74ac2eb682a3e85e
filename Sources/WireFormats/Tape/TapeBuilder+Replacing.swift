/// For formats that write a scalar as a container, which is known as such only at its end.
extension TapeBuilder {
    /// The number of the innermost dictionary's only member, where that has the key and a number of 0 or more.
    func soleInteger(ofKey key: StaticString) -> UInt64? {
        guard current.members == 1, tokens.count == current.start + 3 else { return nil }
        let (name, value) = (tokens[current.start + 1], tokens[current.start + 2])
        guard value.kind == .uint64 || value.kind == .int64 && value.int64 >= 0, name.storage != .jsonEscaped,
            name.length == key.utf8CodeUnitCount
        else { return nil }
        let text = name.storage == .side ? side : input
        let isKey = (0..<name.length).allSatisfy { text[name.offset + $0] == key.utf8Start[$0] }
        return isKey ? value.uint64 : nil
    }

    /// Closes the innermost container and puts a scalar in its place.
    mutating func replaceContainer(with token: TapeToken) {
        let start = current.start
        leave()
        tokens.removeLast(tokens.count - start)
        duplicates.forgetShapes()
        tokens.append(token)
    }
}
