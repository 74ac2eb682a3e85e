/// How a property list begins as Apple's tools and ours write it. A short one consists of it to a fifth.
enum XMLPropertyListPrologue {
    static let text: StaticString = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">

        """

    /// Where the root's name stands in it.
    static let rootName = text.utf8CodeUnitCount - #"plist version="1.0">"#.utf8.count - 1

    /// Whether a document begins so; then it is UTF-8 unless its media type says otherwise.
    static func begins(_ input: [UInt8]) -> Bool {
        let count = text.utf8CodeUnitCount
        guard input.count >= count else { return false }
        return input.withUnsafeBufferPointer { input in
            SWAR.areEqual(
                UnsafeBufferPointer(rebasing: input[..<count]),
                UnsafeBufferPointer(start: text.utf8Start, count: count))
        }
    }
}
