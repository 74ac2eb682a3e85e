/// The keys of a dictionary, as the next one may have them too.
struct PlainShape {
    var keys: [String] = []

    /// Where the key with this index ends, if it is what stands at `start` in front of its end tag.
    @inline(__always)
    func end(of index: Int, in text: Span<UInt8>, at start: Int) -> Int? {
        let key = keys[index].utf8
        let end = start &+ key.count
        guard PlainTag.keyEnd.starts(SWAR.word(text, at: end)) else { return nil }
        let isSame = key.withContiguousStorageIfAvailable { key in
            text.extracting(start..<end).withUnsafeBufferPointer { SWAR.areEqual(key, $0) }
        }
        return isSame == true ? end : nil
    }
}
