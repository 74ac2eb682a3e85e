/// `odataRelativeUri`, section 1 of the ABNF.
extension Parser {
    mutating func requestTarget() throws(Mismatch) -> RequestTarget {
        let last = end
        let mark = source.characters[at..<last].firstIndex { $0.isRaw(UInt8(ascii: "?")) }
        end = mark ?? last
        let (resource, place) = try resource()
        guard isAtEnd else { throw mismatch("the end of the path") }
        end = last
        guard mark != nil else {
            if case .entity = resource { throw mismatch("`?`") }
            return RequestTarget(resource, options: [])
        }
        at += 1
        if isAtEnd, place == .top { return RequestTarget(resource, options: []) }
        let written = try queryOptions(place)
        let options = isVersion2 ? PathOptions(written).nested : written
        if case .entity = resource { try requireID(options) }
        return RequestTarget(resource, options: options)
    }

    private mutating func resource() throws(Mismatch) -> (RequestTarget.Resource, OptionContext) {
        if skip(word: "$batch", ignoringCase: false) { return (.batch, .metadata) }
        if skip(word: "$metadata", ignoringCase: false) {
            if peek() == UInt8(ascii: "#") { _ = try context() }
            return (.metadata, .metadata)
        }
        if !isVersion2, skip(word: "$entity", ignoringCase: false) {
            guard skipRaw("/") else { return (.entity(nil), .entity) }
            return (.entity(try optionallyQualifiedName()), .entityCast)
        }
        return (try resourcePath(), .top)
    }

    private mutating func requireID(_ options: [QueryOption]) throws(Mismatch) {
        for option in options {
            if case .id = option.form { return }
        }
        throw mismatch("`$id`")
    }
}
