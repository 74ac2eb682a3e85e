import AdapterKit
import Testing
import WireFormatTesting
import WireFormats

/// A binary property list in a piece of memory against the same one read as a whole.
@Suite struct MappedConversionTests {
    private struct Outcome {
        var bytes: [UInt8] = []
        var dropped = 0
    }

    private func conversion(to target: FormatName?, depth: Int = 512) throws -> Conversion {
        Conversion(
            from: BinaryPropertyListFormat(), to: try target.map { try #require(FormatCatalogue.conversion[$0]) },
            maximumDepth: depth)
    }

    private func mapped(_ document: [UInt8], to target: FormatName?, depth: Int = 512) throws -> Outcome {
        var outcome = Outcome()
        let report = try conversion(to: target, depth: depth).run(
            mapped: document.span, letGo: {}, output: { outcome.bytes += $0 })
        outcome.dropped = report.droppedDuplicates
        return outcome
    }

    private func whole(_ document: [UInt8], to target: FormatName?, depth: Int = 512) throws -> Outcome {
        var (outcome, rest) = (Outcome(), document)
        let report = try conversion(to: target, depth: depth).run(
            input: {
                defer { rest = [] }
                return rest
            }, output: { outcome.bytes += $0 })
        outcome.dropped = report.droppedDuplicates
        return outcome
    }

    /// What both say about a document: the same bytes, or an error of the same kind at the same place.
    private func compare(_ document: [UInt8], to target: FormatName?, depth: Int = 512) throws {
        let one = Result { try mapped(document, to: target, depth: depth) }
        let other = Result { try whole(document, to: target, depth: depth) }
        switch (one, other) {
        case (.success(let left), .success(let right)):
            #expect(left.dropped == right.dropped)
            guard let target else { return }
            let format = try #require(FormatCatalogue.conversion[target])
            #expect(try format.read(left.bytes) == format.read(right.bytes))
        case (.failure(let left as WireFormatError), .failure(let right as WireFormatError)):
            #expect(left.kind == right.kind, "\(left) and \(right)")
        default: Issue.record("\(one) and \(other)")
        }
    }

    /// A dictionary of two members `a`: its own self, which gives way, and 5.
    @Test func `a value that gives way is refused for what is wrong with it`() throws {
        let objects: [UInt8] = [0xD2, 1, 1, 0, 2, 0x51, 0x61, 0x10, 5]
        let trailer: [UInt8] = [UInt8](repeating: 0, count: 6) + [1, 1] + [0, 0, 0, 0, 0, 0, 0, 3]
        let document =
            Array("bplist00".utf8) + objects + [8, 13, 15] + trailer + [UInt8](repeating: 0, count: 15) + [17]
        #expect(throws: WireFormatError.self) { try mapped(document, to: .cbor) }
        try compare(document, to: .cbor)
    }

    @Test(arguments: [FormatName.json, .plist, .xml, .cbor, .bplist])
    func `generated documents become the same as on the whole`(target: FormatName) throws {
        let format = BinaryPropertyListFormat()
        var generator = ValueGenerator(traits: format.traits, seed: 29)
        for _ in 0..<200 { try compare(try format.write(generator.value(size: 400)), to: target) }
    }

    @Test func `a document with any byte changed is judged as on the whole`() throws {
        let document = try BinaryPropertyListFormat().write([
            "name": "a text", "wide": "ä日", "list": [1, 2.5, true, .data([1, 2])], "inner": ["name": "a text"],
        ])
        for index in document.indices {
            for flip in [UInt8(0x01), 0x10, 0x80, 0xFF] {
                var changed = document
                changed[index] ^= flip
                try compare(changed, to: .json)
                try compare(changed, to: nil)
            }
        }
    }

    @Test func `what is cut off is refused`() throws {
        let document = try BinaryPropertyListFormat().write(["a": [1, 2, 3]])
        for length in document.indices {
            #expect(throws: WireFormatError.self) { try mapped(Array(document[..<length]), to: nil) }
        }
    }

    @Test func `nesting has its limit`() throws {
        let document = try BinaryPropertyListFormat().write([[[["deep"]]]])
        try compare(document, to: .json, depth: 4)
        try compare(document, to: .json, depth: 3)
        #expect(throws: WireFormatError.self) { try mapped(document, to: nil, depth: 3) }
    }

    @Test func `of a key that stands twice the last value is kept at the first one's place, and counted`() throws {
        // {"a": 1, "b": 2, "a": 3}: its last key's reference is set to the first one's.
        var document = try BinaryPropertyListFormat().write(["a": 1, "b": 2, "c": 3])
        let references = try #require(document.firstIndex(of: 0xD3)) + 1
        document[references + 2] = document[references]
        let outcome = try mapped(document, to: .json)
        #expect(outcome.dropped == 1)
        #expect(try JSONFormat().read(outcome.bytes) == ["a": 3, "b": 2])
        try compare(document, to: .json)
    }

    @Test func `shared objects do not multiply without end`() throws {
        // Ten lists, each of which holds the next one sixteen times: 16^10 leaves.
        var document = Array("bplist00".utf8)
        var offsets: [UInt8] = []
        for level in 0..<10 {
            offsets.append(UInt8(document.count))
            document += [0xAF, 0x10, 16] + [UInt8](repeating: UInt8(level + 1), count: 16)
        }
        offsets.append(UInt8(document.count))
        document += [0x51, 0x78]
        let table = UInt8(document.count)
        document += offsets + [0, 0, 0, 0, 0, 0, 1, 1]
        for number in [UInt8(11), 0, table] { document += [0, 0, 0, 0, 0, 0, 0, number] }
        let error = #expect(throws: WireFormatError.self) { try mapped(document, to: .json) }
        #expect(error?.kind == .limitExceeded)
    }
}
