import ValueTree

extension ValueEmitter {
    mutating func write(
        _ value: WireValue, depth: Int, options: WritingOptions, to output: inout OutputBuffer
    ) throws(WireFormatError) {
        switch value {
        case .string(let text): try string(text, to: &output)
        case .int64(let number): try int64(number, to: &output)
        case .dictionary(let members):
            try write(members, depth: try deeper(depth, options), options: options, to: &output)
        case .array(let items): try write(items, depth: try deeper(depth, options), options: options, to: &output)
        default: try writeScalar(value, to: &output)
        }
    }

    private func deeper(_ depth: Int, _ options: WritingOptions) throws(WireFormatError) -> Int {
        guard depth < options.depth else { throw .tooDeep(options.depth) }
        return depth + 1
    }

    private mutating func writeScalar(_ value: WireValue, to output: inout OutputBuffer) throws(WireFormatError) {
        switch value {
        case .null: try null(to: &output)
        case .bool(let flag): try bool(flag, to: &output)
        case .uint64(let number): try uint64(number, to: &output)
        case .double(let number): try double(number, to: &output)
        case .decimal(let number): try decimal(number, to: &output)
        case .data(let bytes): try data(bytes, to: &output)
        case .date(let instant): try date(instant, to: &output)
        case .uid(let number): try uid(number, to: &output)
        case .string, .int64, .array, .dictionary: preconditionFailure("written by the caller")
        }
    }

    private mutating func write(
        _ items: [WireValue], depth: Int, options: WritingOptions, to output: inout OutputBuffer
    ) throws(WireFormatError) {
        try begin(.array, count: items.count, to: &output)
        // By index, and texts taken out here by a property: an iterator, a pattern and the call would each retain and
        // release every item once more.
        for index in items.indices {
            if let text = items[index].stringValue {
                try string(text, to: &output)
            } else {
                try write(items[index], depth: depth, options: options, to: &output)
            }
        }
        try end(.array, to: &output)
    }

    private mutating func write(
        _ members: WireDictionary, depth: Int, options: WritingOptions, to output: inout OutputBuffer
    ) throws(WireFormatError) {
        let omitsNulls = !Self.carriesNull && options.nulls == .omitMember
        try begin(.dictionary, count: members.count, to: &output)
        let entries = members.entries
        for index in entries.indices {
            if omitsNulls, entries[index].value.isNull { continue }
            try key(entries[index].key, to: &output)
            if let text = entries[index].value.stringValue {
                try string(text, to: &output)
            } else {
                try write(entries[index].value, depth: depth, options: options, to: &output)
            }
        }
        try end(.dictionary, to: &output)
    }
}

extension ValueEmitter {
    // `withUTF8` passes no typed error through, so its outcome is carried out by hand.

    @inline(__always)
    mutating func string(_ text: String, to output: inout OutputBuffer) throws(WireFormatError) {
        var failure: WireFormatError?
        Self.withUTF8(of: text) { bytes in
            do throws(WireFormatError) { try string(bytes, to: &output) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    @inline(__always)
    mutating func key(_ text: String, to output: inout OutputBuffer) throws(WireFormatError) {
        var failure: WireFormatError?
        Self.withUTF8(of: text) { bytes in
            do throws(WireFormatError) { try key(bytes, to: &output) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    /// Without the copy of the String that `withUTF8` needs; only a text bridged from elsewhere is copied.
    @inline(__always)
    private static func withUTF8(of text: String, _ body: (UnsafeBufferPointer<UInt8>) -> Void) {
        if text.utf8.withContiguousStorageIfAvailable(body) == nil { Array(text.utf8).withUnsafeBufferPointer(body) }
    }

    private mutating func data(_ bytes: [UInt8], to output: inout OutputBuffer) throws(WireFormatError) {
        var failure: WireFormatError?
        bytes.withUnsafeBufferPointer { bytes in
            do throws(WireFormatError) { try data(bytes, to: &output) } catch { failure = error }
        }
        if let failure { throw failure }
    }
}
